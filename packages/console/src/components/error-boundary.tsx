// Error boundary: catches errors of a page, mostly missing chunks after an update of the server.
import { Component, type ReactNode } from 'react';
import { CenteredMessage } from './app-header.tsx';

export class ErrorBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <div className="middle">
        <CenteredMessage
          title="Something went wrong"
          testId="load-problem"
          actions={
            <button type="button" className="button primary" onClick={() => window.location.reload()}>
              Reload
            </button>
          }
        >
          The server may be unreachable, or the console was updated.
        </CenteredMessage>
      </div>
    );
  }
}
