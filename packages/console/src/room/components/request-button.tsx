// Request button: a button for one REST request, with a copy of the request as a command line.
import type { ReactNode } from 'react';
import type { OperationRequest } from '../../api/operation-request.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { useSessionContext } from '../../hooks/console-context.ts';
import type { Action } from '../../hooks/use-action.ts';

export type RequestButtonProps = {
  request: OperationRequest;
  /** Action and object for screen readers, e.g. "mute the camera of Ada". */
  what: string;
  action: Action;
  /** Called after the request. */
  onDone: () => void;
  className?: string;
  testId?: string;
  children: ReactNode;
};

export function RequestButton({ request, what, action, onDone, className = 'button small', testId, children }: RequestButtonProps) {
  const { api } = useSessionContext();
  const click = async () => {
    await action.run(() => api.send(request));
    onDone();
  };
  return (
    <span className="request-button">
      <ActionButton
        className={className}
        data-testid={testId}
        aria-label={`${what.charAt(0).toUpperCase()}${what.slice(1)}`}
        disabled={action.busy}
        onClick={() => void click()}
      >
        {children}
      </ActionButton>
      <CopyCurl request={request} what={what} compact />
    </span>
  );
}
