// How every part begins: its name, how fresh it is, what can be done with the whole of it. And what a part says where it has nothing to show.
import type { ReactNode } from 'react';

export type ConnectionStatus = 'loading' | 'live' | 'lost';

const sentences: Record<ConnectionStatus, string> = {
  loading: 'Loading…',
  live: 'Live',
  lost: 'Connection to the server lost, trying again…',
};

/** `lost` before the first answer is told as well: then there is nothing on the page yet. */
export function connectionStatus({ data, problem, lost }: { data: unknown; problem: string | undefined; lost: boolean }): ConnectionStatus {
  if (lost) return 'lost';
  return data === undefined && problem === undefined ? 'loading' : 'live';
}

/** `facts`: a few words beside the state, e.g. how many there are. */
export function PageTitle(props: { title: ReactNode; freshness: ConnectionStatus; facts?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="page-head">
      <div className="page-title">
        <h1>{props.title}</h1>
        <p className="page-facts">
          <span role="status" data-testid="status" data-state={props.freshness} className={`freshness ${props.freshness}`}>
            {sentences[props.freshness]}
          </span>
          {props.facts && <span data-testid="facts">{props.facts}</span>}
        </p>
      </div>
      {props.actions && <div className="page-actions">{props.actions}</div>}
    </header>
  );
}

/** What somebody should read before the rest. `danger` is told by screen readers at once. */
export function Alert({ tone, testId, children }: { tone: 'info' | 'warning' | 'danger'; testId?: string; children: ReactNode }) {
  return (
    <div className={`page-note ${tone}`} role={tone === 'danger' ? 'alert' : 'note'} data-testid={testId}>
      {children}
    </div>
  );
}

/** The server refused: its own sentence. Shows nothing without one. */
export function ErrorAlert({ problem, testId = 'problem' }: { problem: string | undefined; testId?: string }) {
  return problem === undefined ? null : (
    <Alert tone="danger" testId={testId}>
      {problem}
    </Alert>
  );
}

/** Nothing is there yet: why, and what would change that. */
export function EmptyState({ title, testId, children }: { title: string; testId?: string; children?: ReactNode }) {
  return (
    <div className="empty" data-testid={testId}>
      <p className="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

/** A word in a coloured field, e.g. a state. Colour is never all it says. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  tone?: 'neutral' | 'good' | 'warning' | 'danger' | 'accent';
  children: ReactNode;
}) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
