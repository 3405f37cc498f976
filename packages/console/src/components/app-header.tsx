// App header: the bar at the top of pages that have no navigation.
import type { ReactNode } from 'react';
import { Brand } from './icons.tsx';

export function AppHeader({ home, children }: { home: boolean; children?: ReactNode }) {
  return (
    <header className="page-header">
      {home ? (
        <a className="brand-link" href="#/" aria-label="Mediarooms: all rooms">
          <Brand />
        </a>
      ) : (
        <Brand />
      )}
      <div className="page-header-end">{children}</div>
    </header>
  );
}

/** A message in the middle of the page, with its actions. */
export function CenteredMessage({
  title,
  children,
  actions,
  testId,
}: {
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  testId?: string;
}) {
  return (
    <section className="notice" data-testid={testId} role="status">
      <h1>{title}</h1>
      {children && <p>{children}</p>}
      {actions && <div className="notice-actions">{actions}</div>}
    </section>
  );
}
