// Webhook tables: state of the receivers, and counters of each node.
import { useMemo } from 'react';
import type { WebhookReceiver, WebhookStatus } from '../../../server-sdk/src/generated/schemas.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Badge, EmptyState } from '../components/page-title.tsx';
import { EmptyValue, formatBytes } from '../components/timestamp.tsx';
import { plural } from '../format.ts';

type ReceiverRow = WebhookReceiver & { node: string; key: string };

const receiverColumns: readonly Column<ReceiverRow>[] = [
  {
    id: 'receiver',
    title: 'Receiver',
    width: 'minmax(0, 1.6fr)',
    narrow: 'head',
    cell: ({ receiver }) => <bdi className="strong">{receiver}</bdi>,
  },
  { id: 'state', title: 'State', width: '130px', cell: (row) => <ReceiverState row={row} /> },
  { id: 'pending', title: 'Pending', width: '84px', numeric: true, cell: ({ pending }) => pending },
  { id: 'rooms', title: 'Rooms', width: '84px', numeric: true, cell: ({ rooms }) => rooms },
  {
    id: 'problem',
    title: 'Last error',
    width: 'minmax(0, 2fr)',
    cell: ({ problem }) => (problem === undefined ? <EmptyValue words="none" /> : <bdi className="foreign">{problem}</bdi>),
  },
  { id: 'node', title: 'Node', width: 'minmax(0, 1.2fr)', cell: ({ node }) => <bdi className="foreign">{node}</bdi> },
];

export function ReceiverTable({ nodes }: { nodes: readonly WebhookStatus[] }) {
  const rows = useMemo(() => rowsOf(nodes), [nodes]);
  return (
    <section className="page-part" aria-label="Receivers">
      <h2>Receivers</h2>
      {rows.length === 0 ? (
        <EmptyState title="No receivers" testId="no-receivers">
          Set SVC_WEBHOOK_URLS for the whole cluster, or webhookUrl of a room; the receiver of a room is listed while events are pending.
        </EmptyState>
      ) : (
        <DataTable label="Receivers" columns={receiverColumns} rows={rows} keyOf={keyOf} testId="receiver-row" attributes={attributesOf} />
      )}
    </section>
  );
}

const keyOf = ({ key }: ReceiverRow): string => key;
const attributesOf = ({ receiver }: ReceiverRow): Record<`data-${string}`, string> => ({ 'data-receiver': receiver });

function ReceiverState({ row: { failing, problem, pending } }: { row: ReceiverRow }) {
  if (failing) return <Badge tone="danger">Unreachable</Badge>;
  if (problem !== undefined) return <Badge tone="warning">Rejecting</Badge>;
  return pending > 0 ? <Badge tone="accent">Delivering</Badge> : <Badge tone="good">Up to date</Badge>;
}

/** Failing receivers first, then by pending events. Receivers of one host look alike, because their paths are not exposed. */
function rowsOf(nodes: readonly WebhookStatus[]): ReceiverRow[] {
  const rank = ({ failing, problem }: WebhookReceiver) => (failing ? 2 : problem === undefined ? 0 : 1);
  return nodes
    .flatMap(({ node, receivers }) => receivers.map((receiver, index) => ({ ...receiver, node, key: `${node} ${index}` })))
    .sort((one, other) => rank(other) - rank(one) || other.pending - one.pending || (one.receiver < other.receiver ? -1 : 1));
}

const nodeColumns: readonly Column<WebhookStatus>[] = [
  { id: 'node', title: 'Node', width: 'minmax(0, 2fr)', narrow: 'head', cell: ({ node }) => <bdi className="strong">{node}</bdi> },
  { id: 'delivered', title: 'Delivered', numeric: true, cell: ({ delivered }) => delivered },
  { id: 'retries', title: 'Failed attempts', numeric: true, cell: ({ retries }) => retries },
  { id: 'dead', title: 'Dead letters', numeric: true, cell: ({ dead }) => dead },
  { id: 'pending', title: 'Pending', numeric: true, cell: ({ pending }) => pending },
  {
    id: 'spool',
    title: 'Spool on disk',
    numeric: true,
    width: 'minmax(0, 1.4fr)',
    cell: ({ spoolBytes, spoolErrors }) =>
      spoolErrors === 0 ? formatBytes(spoolBytes) : <Badge tone="danger">{plural(spoolErrors, '# write failed', '# writes failed')}</Badge>,
  },
];

export function NodeTable({ nodes }: { nodes: readonly WebhookStatus[] }) {
  return (
    <section className="page-part" aria-label="Nodes">
      <h2>Nodes</h2>
      <p className="quiet-text">Counters reset when a node restarts.</p>
      <DataTable
        label="Webhooks of each node"
        columns={nodeColumns}
        rows={nodes}
        keyOf={({ node }) => node}
        testId="webhook-node-row"
        attributes={({ node }) => ({ 'data-node': node })}
      />
    </section>
  );
}
