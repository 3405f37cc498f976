// Dead letters: lists deliveries that failed permanently, shows them and redelivers one or all.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { DeadLetter, WebhookReplay } from '../../../server-sdk/src/generated/schemas.ts';
import { listDeadLetters, maxDeadLetters, replayDeadLetters, webhookEndpoints } from '../api/webhooks.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { SearchIcon } from '../components/icons.tsx';
import { Alert, EmptyState, ErrorAlert } from '../components/page-title.tsx';
import { Timestamp } from '../components/timestamp.tsx';
import { plural } from '../format.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { DeadLetterDialog } from './dead-letter-dialog.tsx';

/** Dead letters change rarely and may be large: they are fetched when the counters of the nodes change, and at this interval. */
const refreshIntervalMs = 30_000;
const pageSize = 100;
const roomPattern = /^[A-Za-z0-9_-]{1,128}$/;

export function DeadLetters({ given, onReplayed }: { given: string; onReplayed: () => void }) {
  const [room, setRoom] = useState('');
  const [limit, setLimit] = useState(pageSize);
  const wanted = roomPattern.test(room) ? room : '';
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
  const [looked, setLooked] = useState<DeadLetter>();
  const [confirming, setConfirming] = useState(false);
  const columns = useMemo(() => columnsOf(setLooked, replay.one), [replay.one]);
  const letters = data?.data;
  const all: WebhookReplay = wanted === '' ? {} : { roomId: wanted };
  return (
    <section className="webhook-part" aria-label="Dead letters">
      <header className="webhook-head">
        <h2>Dead letters</h2>
        <div className="page-actions">
          <label className="search">
            <SearchIcon />
            <span className="visually-hidden">Filter by room</span>
            <input
              type="search"
              data-testid="letter-room"
              placeholder="Room"
              value={room}
              spellCheck={false}
              aria-invalid={room !== '' && wanted === ''}
              onChange={(event) => setRoom(event.target.value.trim())}
            />
          </label>
          {letters && letters.length > 0 && (
            <>
              <ActionButton className="button small" data-testid="replay-all" onClick={() => setConfirming(true)}>
                Redeliver all
              </ActionButton>
              <CopyCurl call={webhookEndpoints.replay(all)} what="redeliver all dead letters" compact />
            </>
          )}
        </div>
      </header>
      <p className="quiet-text">Events that could not be delivered: expired, rejected with 410, forbidden address, or queue overflow.</p>
      {lost ? <Alert tone="warning">Cannot reach the server. The list of dead letters may be out of date.</Alert> : null}
      <ErrorAlert problem={problem ?? replay.problem} testId="letter-problem" />
      {replay.said !== undefined && (
        <Alert tone="info" testId="replayed">
          {replay.said}
        </Alert>
      )}
      {data && data.incomplete.length > 0 && (
        <Alert tone="warning" testId="letters-incomplete">
          {plural(
            data.incomplete.length,
            'This node is unreachable; its dead letters are not listed:',
            'These nodes are unreachable; their dead letters are not listed:',
          )}{' '}
          <bdi>{data.incomplete.join(', ')}</bdi>.
        </Alert>
      )}
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
      {looked && (
        <DeadLetterDialog
          letter={looked}
          busy={replay.busy}
          onReplay={async () => {
            // Another dead letter may be open by then.
            if (await replay.one(looked)) setLooked((now) => (now === looked ? undefined : now));
          }}
          onClose={() => setLooked(undefined)}
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

function columnsOf(look: (letter: DeadLetter) => void, replay: (letter: DeadLetter) => Promise<boolean>): readonly Column<DeadLetter>[] {
  return [
    {
      id: 'event',
      title: 'Event',
      width: 'minmax(0, 1.3fr)',
      narrow: 'head',
      cell: (letter) => (
        <button type="button" className="row-button" data-testid="look" onClick={() => look(letter)}>
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
          <CopyCurl call={webhookEndpoints.replay({ eventIds: [letter.event.id] })} what={`redeliver ${letter.event.type}`} compact />
        </div>
      ),
    },
  ];
}

/** `said`: result message of the last redelivery. */
function useReplay(onDone: () => void) {
  const { api } = useSessionContext();
  const { busy, problem, run } = useAction();
  const [said, setSaid] = useState<string>();
  const send = (filter: WebhookReplay) =>
    run(async () => {
      setSaid(undefined);
      const { data, incomplete } = await replayDeadLetters(api, filter);
      setSaid(sentenceOf(data.replayed, incomplete));
      onDone();
    });
  // A stable reference, because rows are rendered again if it changes.
  const newest = useRef(send);
  newest.current = send;
  const one = useCallback((letter: DeadLetter) => newest.current({ eventIds: [letter.event.id] }), []);
  return { busy, problem, said, one, all: send };
}

function sentenceOf(replayed: number, incomplete: readonly string[]): string {
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
