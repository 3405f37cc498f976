// Toggle: a round switch button.
import type { ReactNode } from 'react';
import './toggle.css';

export type ToggleProps = {
  on: boolean;
  label: string;
  testId: string;
  onIcon: ReactNode;
  offIcon: ReactNode;
  /** Plain look when off, e.g. for screen sharing; otherwise off looks like a warning, e.g. for the microphone. */
  plainOff?: boolean;
  onToggle: () => unknown;
};

export function Toggle({ on, label, testId, onIcon, offIcon, plainOff = false, onToggle }: ToggleProps) {
  const classes = ['toggle', on ? 'on' : plainOff ? 'plain' : 'off'].join(' ');
  return (
    <button
      type="button"
      className={classes}
      role="switch"
      aria-checked={on}
      aria-label={label}
      title={`${label}: ${on ? 'on' : 'off'}`}
      data-testid={testId}
      onClick={() => void onToggle()}
    >
      {on ? onIcon : offIcon}
    </button>
  );
}
