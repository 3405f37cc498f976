// Catches what a page throws: above all files of the console that a newer server no longer has.
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
          title="This page could not be shown"
          testId="load-problem"
          actions={
            <button type="button" className="button primary" onClick={() => window.location.reload()}>
              Load the console again
            </button>
          }
        >
          The server may be away, or have a newer console than this tab.
        </CenteredMessage>
      </div>
    );
  }
}
