// Webhooks of all nodes: receivers that are behind, what waits, and what was given up.
import { useCallback } from 'react';
import type { WebhookStatus } from '../../../server-sdk/src/generated/schemas.ts';
import { fetchWebhooks, webhookEndpoints } from '../api/webhooks.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { Alert, connectionStatus, ErrorAlert, PageTitle } from '../components/page-title.tsx';
import { formatBytes } from '../components/timestamp.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { useResource } from '../hooks/use-resource.ts';
import { DeadLetters } from './dead-letters.tsx';
import { NodeTable, ReceiverTable } from './tables.tsx';
import './webhooks.css';

const refreshIntervalMs = 3_000;

export function WebhooksPage() {
  const { api } = useSessionContext();
  const status = useResource(
    useCallback((signal: AbortSignal) => fetchWebhooks(api, signal), [api]),
    refreshIntervalMs,
  );
  const nodes = status.data?.data;
  const incomplete = status.data?.incomplete ?? [];
  return (
    <>
      <PageTitle
        title="Webhooks"
        freshness={connectionStatus(status)}
        facts={nodes && factsOf(nodes)}
        actions={<CopyCurl call={webhookEndpoints.status} what="show webhooks" />}
      />
      <ErrorAlert problem={status.problem} />
      {incomplete.length > 0 && (
        <Alert tone="warning" testId="incomplete">
          {incomplete.length === 1
            ? 'This node did not answer, so what it has is missing: '
            : 'These nodes did not answer, so what they have is missing: '}
          <bdi>{incomplete.join(', ')}</bdi>.
        </Alert>
      )}
      {nodes && <ReceiverTable nodes={nodes} />}
      {nodes && <DeadLetters given={givenUp(nodes)} onReplayed={status.refresh} />}
      {nodes && <NodeTable nodes={nodes} />}
    </>
  );
}

/** Changes when letters are added: by nodes that go and come, too. */
function givenUp(nodes: readonly WebhookStatus[]): string {
  return nodes.map(({ node, dead }) => `${node} ${dead}`).join('\n');
}

function factsOf(nodes: readonly WebhookStatus[]): string {
  const sum = (of: (node: WebhookStatus) => number) => nodes.reduce((total, node) => total + of(node), 0);
  const pending = sum((node) => node.pending);
  if (pending === 0) return 'Nothing waits';
  return `${pending} ${pending === 1 ? 'event waits' : 'events wait'} (${formatBytes(sum((node) => node.pendingBytes))})`;
}
