// Node columns: the columns of the list of nodes.
import type { Node as ClusterNode } from '../../../server-sdk/src/generated/schemas.ts';
import { ActionButton } from '../components/action-button.tsx';
import type { Column } from '../components/data-table.tsx';
import { Badge } from '../components/page-title.tsx';
import { formatNumber } from '../format.ts';
import { DrainProgress } from './drain-progress.tsx';

export type NodeColumnsOptions = {
  /** Highlights versions, because the nodes have different ones. */
  mixed: boolean;
  onDrain: (node: ClusterNode) => void;
  onCancel: (node: ClusterNode) => void;
};

const notKnown = <span className="quiet-text">unknown</span>;

export function nodeColumns({ mixed, onDrain, onCancel }: NodeColumnsOptions): Column<ClusterNode>[] {
  return [
    {
      id: 'name',
      title: 'Node',
      width: 'minmax(0, 2.4fr)',
      narrow: 'head',
      cell: ({ name, address }) => (
        <span className="two-lines">
          <bdi className="row-name cut">{name}</bdi>
          <bdi className="quiet-text small-text cut" title="Public address (SVC_HOST)">
            {address}
          </bdi>
        </span>
      ),
    },
    { id: 'state', title: 'State', width: 'minmax(0, 1.8fr)', narrow: 'plain', cell: (node) => <State node={node} /> },
    {
      id: 'cpu',
      title: 'CPU',
      width: '140px',
      cell: ({ load }) => (load ? <Meter share={load.cpu} /> : notKnown),
    },
    {
      id: 'rooms',
      title: 'Rooms',
      width: '70px',
      numeric: true,
      cell: ({ load }) => (load ? formatNumber(load.rooms) : notKnown),
    },
    {
      id: 'tracks',
      title: 'Forwarded tracks',
      width: '136px',
      numeric: true,
      cell: ({ load }) => (load ? formatNumber(load.forwardedTracks) : notKnown),
    },
    {
      id: 'version',
      title: 'Version',
      width: '84px',
      cell: ({ version }) => (mixed ? <Badge>{version}</Badge> : <span className="quiet-text">{version}</span>),
    },
    {
      id: 'actions',
      title: 'Actions',
      quietTitle: true,
      width: '118px',
      narrow: 'actions',
      cell: (node) => (
        <div className="row-actions">
          {node.state === 'accepting' && (
            <ActionButton className="button small" data-testid="drain" aria-label={`Drain ${node.name}`} onClick={() => onDrain(node)}>
              Drain
            </ActionButton>
          )}
          {node.state === 'draining' && (
            <ActionButton
              className="button small"
              data-testid="cancel-drain"
              aria-label={`Cancel drain of ${node.name}`}
              onClick={() => onCancel(node)}
            >
              Cancel drain
            </ActionButton>
          )}
        </div>
      ),
    },
  ];
}

function State({ node: { name, state, load } }: { node: ClusterNode }) {
  if (load === null) return <Badge tone="danger">Unreachable</Badge>;
  if (state === 'terminating') return <Badge tone="danger">Shutting down</Badge>;
  if (state === 'draining') {
    return (
      <span className="node-state">
        <Badge tone="warning">Draining</Badge>
        <DrainProgress node={name} />
      </span>
    );
  }
  return load.accepting ? <Badge tone="good">Accepting rooms</Badge> : <Badge tone="warning">Full</Badge>;
}

/** `share`: from 0 to 1. */
function Meter({ share }: { share: number }) {
  const percent = Math.round(Math.min(1, share) * 100);
  return (
    <span className="meter-cell">
      <meter min={0} max={100} high={85} optimum={0} value={percent} aria-label="CPU" />
      <span className="meter-value">{`${percent}\u00a0%`}</span>
    </span>
  );
}
