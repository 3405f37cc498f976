// The nodes of the cluster: what each carries, what state it is in, and calling one to drain or back.
import { useCallback, useMemo, useState } from 'react';
import type { Node as ClusterNode } from '../../../sdk/src/generated/schemas.ts';
import { listNodes } from '../api/cluster.ts';
import { DataTable } from '../components/data-table.tsx';
import { ErrorNote, freshnessOf, Note, PageHead } from '../components/page-head.tsx';
import { useConsole } from '../hooks/console-context.ts';
import { useResource } from '../hooks/use-resource.ts';
import { count } from '../words.ts';
import { CancelDrainDialog, DrainDialog } from './drain-dialogs.tsx';
import { nodeColumns } from './node-columns.tsx';
import '../styles/cluster.css';

const askEvery = 3_000;

type Open = { what: 'drain' | 'cancel'; node: ClusterNode };

export function ClusterPage() {
  const { api } = useConsole();
  const nodes = useResource(
    useCallback((signal: AbortSignal) => listNodes(api, signal), [api]),
    askEvery,
  );
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
      <PageHead title="Cluster" freshness={freshnessOf(nodes)} facts={nodes.data && factsOf(nodes.data)} />
      <ErrorNote problem={nodes.problem} />
      {nodes.data && taking.length === 0 && (
        <Note tone="danger" testId="no-node-takes">
          No node takes rooms: whoever asks for a new one is refused. Rooms that are there go on.
        </Note>
      )}
      {silent.length > 0 && (
        <Note tone="warning" testId="silent-nodes">
          {silent.length === 1 ? 'A node' : `${silent.length} nodes`} did not answer in time, so what it carries is not known:{' '}
          <bdi>{silent.map(({ name }) => name).join(', ')}</bdi>. Rooms on it may still go on.
        </Note>
      )}
      {mixed && (
        <Note tone="info" testId="mixed-versions">
          The nodes have different versions: {[...versions].sort().join(', ')}. That is as it should be while a new one is rolled out.
        </Note>
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
  return [count(nodes.length, 'node'), count(rooms, 'room'), `${count(tracks, 'track')} sent on`].join(' · ');
}
