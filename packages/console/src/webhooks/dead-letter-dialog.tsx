// One dead letter as a whole: what was to be delivered, to whom, and why it was not.
import type { DeadLetter } from '../../../server-sdk/src/generated/schemas.ts';
import { ActionButton } from '../components/action-button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Timestamp } from '../components/timestamp.tsx';

type LetterDialogProps = { letter: DeadLetter; busy: boolean; onReplay: () => void; onClose: () => void };

export function DeadLetterDialog({ letter, busy, onReplay, onClose }: LetterDialogProps) {
  const { receiver, reason, attempts, givenUpAt, node, event } = letter;
  return (
    <Dialog title={event.type} onClose={onClose}>
      <p data-testid="letter-reason">
        Given up {attempts === 0 ? 'without a try' : attempts === 1 ? 'after 1 try' : `after ${attempts} tries`}: <bdi>{reason}</bdi>.
      </p>
      <dl className="letter-facts">
        <dt>Receiver</dt>
        <dd>
          <bdi>{receiver}</bdi>
        </dd>
        <dt>Given up</dt>
        <dd>
          <Timestamp time={Date.parse(givenUpAt)} />
        </dd>
        <dt>Node that has it</dt>
        <dd>
          <bdi>{node}</bdi>
        </dd>
      </dl>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="letter-event" data-testid="letter-event" tabIndex={0} aria-label="The event">
        <pre>{shownJson(event)}</pre>
      </section>
      <div className="dialog-actions">
        <button type="button" className="button" data-testid="letter-close" onClick={onClose}>
          Close
        </button>
        <ActionButton className="button primary" data-testid="letter-replay" disabled={busy} onClick={onReplay}>
          Send again
        </ActionButton>
      </div>
    </Dialog>
  );
}

/** Marks that turn the direction of text are written out: they would show the event in another order than it has. */
function shownJson(value: unknown): string {
  const mark = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  return JSON.stringify(value, undefined, 2).replace(mark, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
