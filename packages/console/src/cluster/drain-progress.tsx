// Drain progress: remaining rooms and deadline of a draining node.
import { getDrain } from '../api/cluster.ts';
import { pluralize } from '../format.ts';
import { useResource } from '../hooks/use-resource.ts';
import { formatTime } from './drain-impact.ts';

const pollIntervalMs = 3_000;

export function DrainProgress({ node }: { node: string }) {
  const { data } = useResource(['drain', node], (api, signal) => getDrain(api, node, signal), pollIntervalMs);
  if (!data) return null;
  return (
    <span className="quiet-text small-text" data-testid="drain-progress">
      {data.rooms === 0 ? 'No rooms left: safe to remove.' : `${pluralize(data.rooms, 'room')} left`}
      {data.rooms > 0 && data.deadline !== null && `, deadline ${formatTime(Date.parse(data.deadline))}`}
    </span>
  );
}
