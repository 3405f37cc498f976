// Page title: name, connection status and actions of a page. Also alerts, empty states and badges.
import type { ReactNode } from 'react';

export type ConnectionStatus = 'loading' | 'live' | 'lost';

const messages: Record<ConnectionStatus, string> = {
  loading: 'Loading…',
  live: 'Live',
  lost: 'Disconnected. Reconnecting…',
};

/** `lost` also before the first response, while the page is still empty. */
export function connectionStatus({ data, problem, lost }: { data: unknown; problem: string | undefined; lost: boolean }): ConnectionStatus {
  if (lost) return 'lost';
  return data === undefined && problem === undefined ? 'loading' : 'live';
}

/** `facts`: a short summary next to the status, e.g. counts. */
export function PageTitle(props: { title: ReactNode; freshness: ConnectionStatus; facts?: ReactNode; actions?: ReactNode }) {
  return (
    <header className="page-head">
      <div className="page-title">
        <h1>{props.title}</h1>
        <p className="page-facts">
          <span role="status" data-testid="status" data-state={props.freshness} className={`freshness ${props.freshness}`}>
            {messages[props.freshness]}
          </span>
          {props.facts && <span data-testid="facts">{props.facts}</span>}
        </p>
      </div>
      {props.actions && <div className="page-actions">{props.actions}</div>}
    </header>
  );
}

/** A message above the content. Screen readers announce `danger` immediately. */
export function Alert({
  tone,
  testId,
  children,
}: {
  tone: 'info' | 'warning' | 'danger';
  testId?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className={`page-note ${tone}`} role={tone === 'danger' ? 'alert' : 'note'} data-testid={testId}>
      {children}
    </div>
  );
}

/** The error message of the server, if there is one. */
export function ErrorAlert({ problem, testId = 'problem' }: { problem: string | undefined; testId?: string }) {
  return problem === undefined ? null : (
    <Alert tone="danger" testId={testId}>
      {problem}
    </Alert>
  );
}

/** The error message of a form or of a button, next to it. */
export function FormProblem({ problem, testId }: { problem: string | undefined; testId?: string }) {
  return problem === undefined ? null : (
    <p className="problem" role="alert" data-testid={testId}>
      {problem}
    </p>
  );
}

/** Names the nodes whose part of a list is missing. `what`: the content of the list, e.g. `rooms`. */
export function UnreachableNodes({ nodes, what, testId }: { nodes: readonly string[]; what: string; testId?: string }) {
  return nodes.length === 0 ? null : (
    <Alert tone="warning" testId={testId}>
      {nodes.length === 1 ? 'A node is unreachable; its ' : `${nodes.length} nodes are unreachable; their `}
      {what} are not listed: <bdi>{nodes.join(', ')}</bdi>.
    </Alert>
  );
}

/** Shown instead of an empty list: why it is empty and what to do. */
export function EmptyState({ title, testId, children }: { title: string; testId?: string; children?: ReactNode }) {
  return (
    <div className="empty" data-testid={testId}>
      <p className="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}

/** A state as a colored label. Its text carries the meaning, not the color alone. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  tone?: 'neutral' | 'good' | 'warning' | 'danger' | 'accent';
  children: ReactNode;
}) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
