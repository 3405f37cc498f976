// Confirmed request: a button for one REST request that a dialog confirms, with a copy of the request as a command line.
import { type ReactNode, useState } from 'react';
import type { OperationRequest } from '../../api/operation-request.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { useSessionContext } from '../../hooks/console-context.ts';
import { useAction } from '../../hooks/use-action.ts';

export type ConfirmedRequestProps = {
  request: OperationRequest;
  /** Action and object for screen readers, e.g. "remove Ada". */
  what: string;
  button: string;
  testId: string;
  title: string;
  confirm: string;
  /** Called after the request. */
  onDone: () => void;
  /** The effect of the request. */
  children: ReactNode;
};

export function ConfirmedRequest({ request, what, button, testId, title, confirm, onDone, children }: ConfirmedRequestProps) {
  const { api } = useSessionContext();
  const { busy, problem, run } = useAction();
  const [asking, setAsking] = useState(false);
  const send = async () => {
    if (await run(() => api.send(request))) setAsking(false);
    onDone();
  };
  return (
    <div className="entry-end">
      <ActionButton className="button small danger-quiet" data-testid={testId} onClick={() => setAsking(true)}>
        {button}
      </ActionButton>
      <CopyCurl request={request} what={what} compact />
      {asking && (
        <ConfirmDialog
          title={title}
          confirm={confirm}
          busy={busy}
          problem={problem}
          onConfirm={() => void send()}
          onClose={() => setAsking(false)}
        >
          {children}
        </ConfirmDialog>
      )}
    </div>
  );
}
