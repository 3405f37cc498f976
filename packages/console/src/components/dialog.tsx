// Dialog: a modal <dialog> element, which traps the focus and closes on Esc.

import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { FormProblem } from './page-title.tsx';

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    // close() of the element returns the focus to the previously focused element.
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} className="dialog" aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Asks for confirmation before an action; `children` describe its effect. Cancel has the initial focus. */
export function ConfirmDialog(props: {
  title: string;
  children: ReactNode;
  confirm: string;
  busy: boolean;
  problem: string | undefined;
  /** Default: `danger`. */
  tone?: 'danger' | 'primary';
  /** Next to the buttons, e.g. CopyCurl. */
  aside?: ReactNode;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const cancel = useRef<HTMLButtonElement>(null);
  // After showModal(), which focuses the first element.
  useLayoutEffect(() => cancel.current?.focus(), []);
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div className="dialog-text">{props.children}</div>
      <FormProblem problem={props.problem} />
      <div className="dialog-actions">
        {props.aside}
        <span className="spacer" />
        <button ref={cancel} type="button" className="button" onClick={props.onClose}>
          Cancel
        </button>
        <button
          type="button"
          className={`button ${props.tone ?? 'danger'}`}
          data-testid="confirm"
          disabled={props.busy}
          onClick={props.onConfirm}
        >
          {props.confirm}
        </button>
      </div>
    </Dialog>
  );
}
