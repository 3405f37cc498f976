// Copy field: a value with a button that copies it; if the browser blocks that, the value is selected.
import { useRef } from 'react';
import { useCopy } from '../hooks/use-copy.ts';
import { CopyIcon } from './icons.tsx';

export function CopyField({ label, value, testId }: { label: string; value: string; testId: string }) {
  const [copied, copy] = useCopy();
  const field = useRef<HTMLInputElement>(null);
  const click = async () => {
    field.current?.select();
    await copy(value);
  };
  return (
    <div className="field copy-field">
      <label htmlFor={testId}>{label}</label>
      <input ref={field} id={testId} readOnly data-testid={testId} value={value} onFocus={(event) => event.target.select()} />
      <button type="button" className="button quiet small" aria-label={`Copy: ${label}`} onClick={click}>
        <CopyIcon />
        <span>{copied === 'copied' ? 'Copied' : 'Copy'}</span>
      </button>
      {copied === 'refused' && (
        <small role="status">Copying is blocked by the browser. The value is selected: press Ctrl+C or Cmd+C.</small>
      )}
    </div>
  );
}
