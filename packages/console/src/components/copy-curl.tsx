// Copy as curl: copies the request of a button as a command line.
import { useState } from 'react';
import { curlCommand, type HttpRequest } from '../api/curl.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useCopy } from '../hooks/use-copy.ts';
import { Dialog } from './dialog.tsx';
import { CopyIcon } from './icons.tsx';

/** `what`: what the command does, for screen readers, e.g. "end room a". `compact`: icon without text. */
export function CopyCurl({ request, what, compact }: { request: HttpRequest; what: string; compact?: boolean }) {
  const { api } = useSessionContext();
  const [copied, copy] = useCopy();
  const [shown, setShown] = useState(false);
  const command = curlCommand(request, api.base);
  const label = `Copy as curl: ${what}`;
  const click = async () => {
    await copy(command);
    setShown(true);
  };
  return (
    <>
      <button
        type="button"
        className={compact ? 'button icon-only small' : 'button quiet small curl'}
        data-testid="copy-curl"
        data-command={command}
        aria-label={label}
        title={label}
        onClick={click}
      >
        <CopyIcon />
        {!compact && <span>{copied === 'copied' ? 'Copied' : 'Copy as curl'}</span>}
      </button>
      <span className="visually-hidden" aria-live="polite">
        {copied === 'copied' ? 'The command was copied.' : ''}
      </span>
      {shown && copied === 'refused' && (
        <Dialog title="Copy as curl" onClose={() => setShown(false)}>
          <p>Copying is blocked by the browser. The command is selected: press Ctrl+C or Cmd+C.</p>
          <textarea
            className="command"
            aria-label="The command"
            readOnly
            rows={5}
            value={command}
            ref={(field) => field?.select()}
            data-testid="curl-command"
          />
          <div className="dialog-actions">
            <button type="button" className="button" onClick={() => setShown(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
