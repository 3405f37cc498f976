// Tabs by the ARIA Authoring Practices: arrow keys change the tab, the Tab key enters its content.
import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react';

export type Tab<Name extends string> = { name: Name; title: string; count?: number | undefined; testId: string };

export type TabsProps<Name extends string> = {
  label: string;
  tabs: readonly Tab<Name>[];
  current: Name;
  onChange: (name: Name) => void;
  /** At the end of the line. */
  end?: ReactNode;
  children: ReactNode;
};

export function Tabs<Name extends string>({ label, tabs, current, onChange, end, children }: TabsProps<Name>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const go = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ name }) => name === current);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    const tab = next === undefined ? undefined : tabs.at(next % tabs.length);
    if (!tab) return;
    event.preventDefault();
    onChange(tab.name);
    list.current?.querySelector<HTMLElement>(`[data-tab="${tab.name}"]`)?.focus();
  };
  return (
    <>
      <div className="tabs-line">
        <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={go}>
          {tabs.map(({ name, title, count, testId }) => (
            <button
              key={name}
              type="button"
              role="tab"
              className="tab"
              id={`${id}-${name}`}
              data-tab={name}
              data-testid={testId}
              aria-selected={name === current}
              aria-controls={`${id}-content`}
              tabIndex={name === current ? 0 : -1}
              onClick={() => onChange(name)}
            >
              {title}
              {count !== undefined && <span className="count">{count}</span>}
            </button>
          ))}
        </div>
        {end}
      </div>
      <div className="tab-content" role="tabpanel" id={`${id}-content`} aria-labelledby={`${id}-${current}`} data-testid="tab-content">
        {children}
      </div>
    </>
  );
}
