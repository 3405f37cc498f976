// Dead letters: lists deliveries that failed permanently, shows them and redelivers one or all.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { DeadLetter, WebhookReplay } from '../../../server-sdk/src/generated/schemas.ts';
import { listDeadLetters, maxDeadLetters, replayDeadLetters, webhookEndpoints } from '../api/webhooks.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { Alert, EmptyState, ErrorAlert, UnreachableNodes } from '../components/page-title.tsx';
import { SearchField } from '../components/search-field.tsx';
import { Timestamp } from '../components/timestamp.tsx';
import { plural } from '../format.ts';
import { idPattern } from '../generated/id-pattern.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { DeadLetterDialog } from './dead-letter-dialog.tsx';

/** Dead letters change rarely and may be large: they are fetched when the counters of the nodes change, and at this interval. */
const refreshIntervalMs = 30_000;
const pageSize = 100;

export function DeadLetters({ given, onReplayed }: { given: string; onReplayed: () => void }) {
  const [room, setRoom] = useState('');
  const [limit, setLimit] = useState(pageSize);
  const wanted = idPattern.test(room) ? room : '';
  const { data, problem, lost, refresh } = useResource(
    ['dead-letters', wanted, limit],
    (api, signal) => listDeadLetters(api, wanted, limit, signal),
    refreshIntervalMs,
  );
  const known = useRef(given);
  useEffect(() => {
    if (known.current === given) return;
    known.current = given;
    refresh();
  }, [given, refresh]);
  const replay = useReplay(() => {
    refresh();
    onReplayed();
  });
  const [opened, setOpened] = useState<DeadLetter>();
  const [confirming, setConfirming] = useState(false);
  const columns = useMemo(() => columnsOf(setOpened, replay.one), [replay.one]);
  const letters = data?.data;
  const all: WebhookReplay = wanted === '' ? {} : { roomId: wanted };
  return (
    <section className="page-part" aria-label="Dead letters">
      <header className="part-head">
        <h2>Dead letters</h2>
        <div className="page-actions">
          <SearchField
            label="Filter by room"
            placeholder="Room"
            testId="letter-room"
            value={room}
            onChange={(value) => setRoom(value.trim())}
            invalid={room !== '' && wanted === ''}
          />
          {letters && letters.length > 0 && (
            <>
              <ActionButton className="button small" data-testid="replay-all" onClick={() => setConfirming(true)}>
                Redeliver all
              </ActionButton>
              <CopyCurl request={webhookEndpoints.replay(all)} what="redeliver all dead letters" compact />
            </>
          )}
        </div>
      </header>
      <p className="quiet-text">Events that could not be delivered: expired, rejected with 410, forbidden address, or queue overflow.</p>
      {lost ? <Alert tone="warning">Cannot reach the server. The list of dead letters may be out of date.</Alert> : null}
      <ErrorAlert problem={problem ?? replay.problem} testId="letter-problem" />
      {replay.result !== undefined && (
        <Alert tone="info" testId="replayed">
          {replay.result}
        </Alert>
      )}
      <UnreachableNodes nodes={data?.incomplete ?? []} what="dead letters" testId="letters-incomplete" />
      {letters?.length === 0 && (
        <EmptyState title={wanted === '' ? 'No dead letters' : 'No dead letters of this room'} testId="no-letters" />
      )}
      {letters && letters.length > 0 && (
        <DataTable label="Dead letters" columns={columns} rows={letters} keyOf={keyOf} testId="letter-row" attributes={attributesOf} />
      )}
      {letters && letters.length >= limit && limit < maxDeadLetters && (
        <button type="button" className="button" data-testid="more-letters" onClick={() => setLimit(maxDeadLetters)}>
          Show up to {maxDeadLetters}
        </button>
      )}
      {letters && letters.length >= maxDeadLetters && <p className="quiet-text">Showing the newest {maxDeadLetters}.</p>}
      {opened && (
        <DeadLetterDialog
          letter={opened}
          busy={replay.busy}
          onReplay={async () => {
            // Another dead letter may be open by then.
            if (await replay.one(opened)) setOpened((now) => (now === opened ? undefined : now));
          }}
          onClose={() => setOpened(undefined)}
        />
      )}
      {confirming && (
        <ConfirmDialog
          title="Redeliver all dead letters?"
          confirm="Redeliver"
          tone="primary"
          busy={replay.busy}
          problem={replay.problem}
          onConfirm={async () => {
            if (await replay.all(all)) setConfirming(false);
          }}
          onClose={() => setConfirming(false)}
        >
          <p data-testid="replay-what">
            {wanted === '' ? 'All dead letters of all nodes' : `All dead letters of room ${wanted}`} are redelivered, including those that
            are not listed here. Receivers get the same webhook-id as before and can detect duplicates.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** An event may have dead letters for several receivers and on several nodes. */
const keyOf = ({ node, receiver, event, givenUpAt }: DeadLetter): string => `${node} ${receiver} ${event.id} ${givenUpAt}`;
const attributesOf = ({ event }: DeadLetter): Record<`data-${string}`, string> => ({ 'data-event': event.id });

function columnsOf(open: (letter: DeadLetter) => void, replay: (letter: DeadLetter) => Promise<boolean>): readonly Column<DeadLetter>[] {
  return [
    {
      id: 'event',
      title: 'Event',
      width: 'minmax(0, 1.3fr)',
      narrow: 'head',
      cell: (letter) => (
        <button type="button" className="row-name" data-testid="letter-open" onClick={() => open(letter)}>
          {letter.event.type}
        </button>
      ),
    },
    { id: 'room', title: 'Room', width: 'minmax(0, 1fr)', cell: ({ event }) => <bdi className="foreign">{event.roomId}</bdi> },
    { id: 'receiver', title: 'Receiver', width: 'minmax(0, 1.8fr)', cell: ({ receiver }) => <bdi className="foreign">{receiver}</bdi> },
    { id: 'reason', title: 'Reason', width: 'minmax(0, 1.8fr)', cell: ({ reason }) => <bdi className="foreign">{reason}</bdi> },
    { id: 'tries', title: 'Attempts', width: '72px', numeric: true, cell: ({ attempts }) => attempts },
    { id: 'when', title: 'Failed at', width: '212px', cell: ({ givenUpAt }) => <Timestamp time={Date.parse(givenUpAt)} /> },
    {
      id: 'actions',
      title: 'Actions',
      width: '150px',
      narrow: 'actions',
      quietTitle: true,
      cell: (letter) => (
        <div className="row-actions">
          <ActionButton
            className="button small"
            data-testid="replay-one"
            aria-label={`Redeliver ${letter.event.type} of room ${letter.event.roomId}`}
            onClick={() => void replay(letter)}
          >
            Redeliver
          </ActionButton>
          <CopyCurl request={webhookEndpoints.replay({ eventIds: [letter.event.id] })} what={`redeliver ${letter.event.type}`} compact />
        </div>
      ),
    },
  ];
}

/** `result`: result message of the last redelivery. */
function useReplay(onDone: () => void) {
  const { api } = useSessionContext();
  const { busy, problem, run } = useAction();
  const [result, setResult] = useState<string>();
  const send = (filter: WebhookReplay) =>
    run(async () => {
      setResult(undefined);
      const { data, incomplete } = await replayDeadLetters(api, filter);
      setResult(replayMessage(data.replayed, incomplete));
      onDone();
    });
  // A stable reference, because rows are rendered again if it changes.
  const newest = useRef(send);
  newest.current = send;
  const one = useCallback((letter: DeadLetter) => newest.current({ eventIds: [letter.event.id] }), []);
  return { busy, problem, result, one, all: send };
}

function replayMessage(replayed: number, incomplete: readonly string[]): string {
  const count =
    replayed === 0
      ? 'No dead letters to redeliver.'
      : plural(replayed, '# event queued for redelivery.', '# events queued for redelivery.');
  if (incomplete.length === 0) return count;
  const kept = plural(
    incomplete.length,
    'This node is unreachable and keeps its dead letters:',
    'These nodes are unreachable and keep their dead letters:',
  );
  return `${count} ${kept} ${incomplete.join(', ')}.`;
}
