// Action button: changes something on the server. With a read-only token it stays focusable, does nothing and explains why.
import { type ButtonHTMLAttributes, useId } from 'react';
import { useReadOnlyReason } from '../hooks/console-context.ts';

type ActionButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'type'> & { type?: 'button' | 'submit'; 'data-testid'?: string };

export function ActionButton({ type = 'button', onClick, className = 'button', children, ...rest }: ActionButtonProps) {
  const refusal = useReadOnlyReason();
  const reasonId = useId();
  if (refusal === undefined) {
    return (
      <button type={type} className={className} onClick={onClick} {...rest}>
        {children}
      </button>
    );
  }
  return (
    <button {...rest} type="button" className={className} aria-disabled="true" aria-describedby={reasonId} title={refusal}>
      {children}
      <span className="visually-hidden" id={reasonId}>
        {refusal}
      </span>
    </button>
  );
}
