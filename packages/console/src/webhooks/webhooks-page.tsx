// Webhooks page: receivers, dead letters and counters of all nodes.
import type { WebhookStatus } from '../../../server-sdk/src/generated/schemas.ts';
import { fetchWebhooks, webhookEndpoints } from '../api/webhooks.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { connectionStatus, ErrorAlert, PageTitle, UnreachableNodes } from '../components/page-title.tsx';
import { formatBytes } from '../components/timestamp.tsx';
import { pluralize } from '../format.ts';
import { useResource } from '../hooks/use-resource.ts';
import { DeadLetters } from './dead-letters.tsx';
import { NodeTable, ReceiverTable } from './tables.tsx';
import './webhooks.css';

const refreshIntervalMs = 3_000;

export function WebhooksPage() {
  const status = useResource(['webhooks'], fetchWebhooks, refreshIntervalMs);
  const nodes = status.data?.data;
  return (
    <>
      <PageTitle
        title="Webhooks"
        freshness={connectionStatus(status)}
        facts={nodes && factsOf(nodes)}
        actions={<CopyCurl request={webhookEndpoints.status} what="show webhooks" />}
      />
      <ErrorAlert problem={status.problem} />
      <UnreachableNodes nodes={status.data?.incomplete ?? []} what="webhooks" testId="incomplete" />
      {nodes && <ReceiverTable nodes={nodes} />}
      {nodes && <DeadLetters given={givenUp(nodes)} onReplayed={status.refresh} />}
      {nodes && <NodeTable nodes={nodes} />}
    </>
  );
}

/** Changes when dead letters or nodes are added or removed. */
function givenUp(nodes: readonly WebhookStatus[]): string {
  return nodes.map(({ node, dead }) => `${node} ${dead}`).join('\n');
}

function factsOf(nodes: readonly WebhookStatus[]): string {
  const sum = (of: (node: WebhookStatus) => number) => nodes.reduce((total, node) => total + of(node), 0);
  const pending = sum((node) => node.pending);
  if (pending === 0) return 'Queue empty';
  return `${pluralize(pending, 'pending event')} (${formatBytes(sum((node) => node.pendingBytes))})`;
}
