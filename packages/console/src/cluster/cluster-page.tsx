// Cluster page: nodes with load and state, and their drains.
import { useMemo, useState } from 'react';
import type { Node as ClusterNode } from '../../../server-sdk/src/generated/schemas.ts';
import { listNodes } from '../api/cluster.ts';
import { DataTable } from '../components/data-table.tsx';
import { Alert, connectionStatus, ErrorAlert, PageTitle } from '../components/page-title.tsx';
import { plural, pluralize } from '../format.ts';
import { useResource } from '../hooks/use-resource.ts';
import { CancelDrainDialog, DrainDialog } from './drain-dialogs.tsx';
import { nodeColumns } from './node-columns.tsx';
import './cluster.css';

const pollIntervalMs = 3_000;

type Open = { what: 'drain' | 'cancel'; node: ClusterNode };

export function ClusterPage() {
  const nodes = useResource(['nodes'], listNodes, pollIntervalMs);
  const [open, setOpen] = useState<Open>();
  const versions = useMemo(() => new Set(nodes.data?.map(({ version }) => version)), [nodes.data]);
  const mixed = versions.size > 1;
  const columns = useMemo(
    () =>
      nodeColumns({
        mixed,
        onDrain: (node) => setOpen({ what: 'drain', node }),
        onCancel: (node) => setOpen({ what: 'cancel', node }),
      }),
    [mixed],
  );
  const silent = nodes.data?.filter(({ load }) => load === null) ?? [];
  const taking = nodes.data?.filter(takesRooms) ?? [];
  const others = open ? taking.filter(({ name }) => name !== open.node.name).length : 0;
  const close = () => {
    setOpen(undefined);
    nodes.refresh();
  };
  return (
    <>
      <PageTitle title="Cluster" freshness={connectionStatus(nodes)} facts={nodes.data && factsOf(nodes.data)} />
      <ErrorAlert problem={nodes.problem} />
      {nodes.data && taking.length === 0 && (
        <Alert tone="danger" testId="no-node-takes">
          No node accepts new rooms. Existing rooms are not affected.
        </Alert>
      )}
      {silent.length > 0 && (
        <Alert tone="warning" testId="silent-nodes">
          {plural(silent.length, 'A node did not respond; its load is unknown:', '# nodes did not respond; their load is unknown:')}{' '}
          <bdi>{silent.map(({ name }) => name).join(', ')}</bdi>.{' '}
          {plural(silent.length, 'Its rooms may still be running.', 'Their rooms may still be running.')}
        </Alert>
      )}
      {mixed && (
        <Alert tone="info" testId="mixed-versions">
          The nodes have different versions: {[...versions].sort().join(', ')}. This is expected during a rollout.
        </Alert>
      )}
      {nodes.data && (
        <DataTable label="Nodes" columns={columns} rows={nodes.data} keyOf={keyOf} testId="node-row" attributes={attributesOf} />
      )}
      {open?.what === 'drain' && <DrainDialog node={open.node} others={others} onClose={close} />}
      {open?.what === 'cancel' && <CancelDrainDialog node={open.node} onClose={close} />}
    </>
  );
}

const keyOf = (node: ClusterNode): string => node.name;
const attributesOf = (node: ClusterNode): Record<`data-${string}`, string> => ({ 'data-node': node.name, 'data-state': node.state });
const takesRooms = ({ state, load }: ClusterNode): boolean => state === 'accepting' && load?.accepting !== false;

function factsOf(nodes: readonly ClusterNode[]): string {
  const rooms = nodes.reduce((sum, { load }) => sum + (load?.rooms ?? 0), 0);
  const tracks = nodes.reduce((sum, { load }) => sum + (load?.forwardedTracks ?? 0), 0);
  return [pluralize(nodes.length, 'node'), pluralize(rooms, 'room'), pluralize(tracks, 'forwarded track')].join(' · ');
}
