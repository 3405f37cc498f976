// Deliveries that were given up: looked at one by one, and sent again one by one or all.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { DeadLetter, WebhookReplay } from '../../../server-sdk/src/generated/schemas.ts';
import { listDeadLetters, maxDeadLetters, replayDeadLetters, webhookEndpoints } from '../api/webhooks.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { SearchIcon } from '../components/nav-icons.tsx';
import { Alert, EmptyState, ErrorAlert } from '../components/page-title.tsx';
import { Timestamp } from '../components/timestamp.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { DeadLetterDialog } from './dead-letter-dialog.tsx';

/** Letters change rarely, and may be large: they are asked for when the counts of nodes have changed, and now and then. */
const refreshIntervalMs = 30_000;
const pageSize = 100;
const roomPattern = /^[A-Za-z0-9_-]{1,128}$/;

export function DeadLetters({ given, onReplayed }: { given: string; onReplayed: () => void }) {
  const { api } = useSessionContext();
  const [room, setRoom] = useState('');
  const [limit, setLimit] = useState(pageSize);
  const wanted = roomPattern.test(room) ? room : '';
  const { data, problem, lost, refresh } = useResource(
    useCallback((signal: AbortSignal) => listDeadLetters(api, wanted, limit, signal), [api, wanted, limit]),
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
            <span className="visually-hidden">Only of this room</span>
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
                Send all again
              </ActionButton>
              <CopyCurl call={webhookEndpoints.replay(all)} what="send all dead letters again" compact />
            </>
          )}
        </div>
      </header>
      <p className="quiet-text">Events that could not be delivered: expired, rejected with 410, forbidden address, or queue overflow.</p>
      {lost ? <Alert tone="warning">The list of dead letters is out of date: the server does not answer.</Alert> : null}
      <ErrorAlert problem={problem ?? replay.problem} testId="letter-problem" />
      {replay.said !== undefined && (
        <Alert tone="info" testId="replayed">
          {replay.said}
        </Alert>
      )}
      {data && data.incomplete.length > 0 && (
        <Alert tone="warning" testId="letters-incomplete">
          Dead letters of these nodes are missing, since they did not answer: <bdi>{data.incomplete.join(', ')}</bdi>.
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
      {letters && letters.length >= maxDeadLetters && (
        <p className="quiet-text">There may be more: these are the newest {maxDeadLetters}.</p>
      )}
      {looked && (
        <DeadLetterDialog
          letter={looked}
          busy={replay.busy}
          onReplay={async () => {
            // Another one may be looked at by then.
            if (await replay.one(looked)) setLooked((now) => (now === looked ? undefined : now));
          }}
          onClose={() => setLooked(undefined)}
        />
      )}
      {confirming && (
        <ConfirmDialog
          title="Send all dead letters again?"
          confirm="Send again"
          tone="primary"
          busy={replay.busy}
          problem={replay.problem}
          onConfirm={async () => {
            if (await replay.all(all)) setConfirming(false);
          }}
          onClose={() => setConfirming(false)}
        >
          <p data-testid="replay-what">
            {wanted === '' ? 'Every dead letter of every node' : `Every dead letter of room ${wanted}`} is delivered once more, also those
            that are not listed here. Receivers get the same webhook-id as before, so they can tell what they had already.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** An event may be given up for several receivers, and by several nodes. */
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
    { id: 'tries', title: 'Tries', width: '56px', numeric: true, cell: ({ attempts }) => attempts },
    { id: 'when', title: 'Given up', width: '212px', cell: ({ givenUpAt }) => <Timestamp time={Date.parse(givenUpAt)} /> },
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
            aria-label={`Send again: ${letter.event.type} of room ${letter.event.roomId}`}
            onClick={() => void replay(letter)}
          >
            Send again
          </ActionButton>
          <CopyCurl call={webhookEndpoints.replay({ eventIds: [letter.event.id] })} what={`send ${letter.event.type} again`} compact />
        </div>
      ),
    },
  ];
}

/** `said`: what became of the last one. */
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
  // Rows are drawn again only where this changes, so it stays the same.
  const newest = useRef(send);
  newest.current = send;
  const one = useCallback((letter: DeadLetter) => newest.current({ eventIds: [letter.event.id] }), []);
  return { busy, problem, said, one, all: send };
}

function sentenceOf(replayed: number, incomplete: readonly string[]): string {
  const count =
    replayed === 0 ? 'Nothing was left to send.' : replayed === 1 ? '1 event is sent again.' : `${replayed} events are sent again.`;
  return incomplete.length === 0 ? count : `${count} These nodes did not answer, and keep theirs: ${incomplete.join(', ')}.`;
}
