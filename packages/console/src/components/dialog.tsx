// A modal dialog on the browser's own element: focus stays inside, Esc closes.
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    // Who had the focus before gets it back from the element's own close().
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

/** Asks before something is done that cannot be taken back: `children` say what will happen. Focus begins at Cancel. */
export function ConfirmDialog(props: {
  title: string;
  children: ReactNode;
  confirm: string;
  busy: boolean;
  problem: string | undefined;
  /** `danger` where nothing is said. */
  tone?: 'danger' | 'primary';
  /** Beside the buttons, e.g. a copy as curl. */
  aside?: ReactNode;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const cancel = useRef<HTMLButtonElement>(null);
  // After the dialog is open, which gives the focus to its first element.
  useLayoutEffect(() => cancel.current?.focus(), []);
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div className="dialog-text">{props.children}</div>
      {props.problem && (
        <p className="problem" role="alert">
          {props.problem}
        </p>
      )}
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
