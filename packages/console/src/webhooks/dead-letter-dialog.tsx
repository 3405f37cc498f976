// Dead letter dialog: event, receiver and failure reason of one dead letter.
import type { DeadLetter } from '../../../server-sdk/src/generated/schemas.ts';
import { ActionButton } from '../components/action-button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { FactList } from '../components/fact-list.tsx';
import { Timestamp } from '../components/timestamp.tsx';
import { pluralize } from '../format.ts';

type LetterDialogProps = { letter: DeadLetter; busy: boolean; onReplay: () => void; onClose: () => void };

export function DeadLetterDialog({ letter, busy, onReplay, onClose }: LetterDialogProps) {
  const { receiver, reason, attempts, givenUpAt, node, event } = letter;
  return (
    <Dialog title={event.type} onClose={onClose}>
      <p data-testid="letter-reason">
        Failed permanently {attempts === 0 ? 'without an attempt' : `after ${pluralize(attempts, 'attempt')}`}: <bdi>{reason}</bdi>.
      </p>
      <FactList
        facts={[
          ['Receiver', <bdi key="receiver">{receiver}</bdi>],
          ['Failed at', <Timestamp key="time" time={Date.parse(givenUpAt)} />],
          ['Node', <bdi key="node">{node}</bdi>],
        ]}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <section className="letter-event" data-testid="letter-event" tabIndex={0} aria-label="Event">
        <pre>{shownJson(event)}</pre>
      </section>
      <div className="dialog-actions">
        <button type="button" className="button" data-testid="letter-close" onClick={onClose}>
          Close
        </button>
        <ActionButton className="button primary" data-testid="letter-replay" disabled={busy} onClick={onReplay}>
          Redeliver
        </ActionButton>
      </div>
    </Dialog>
  );
}

/** Escapes marks that change the text direction, because they would reorder the shown JSON. */
function shownJson(value: unknown): string {
  const mark = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  return JSON.stringify(value, undefined, 2).replace(mark, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
