// What a node that drains still waits for.
import { useCallback } from 'react';
import { getDrain } from '../api/cluster.ts';
import { useConsole } from '../hooks/console-context.ts';
import { useResource } from '../hooks/use-resource.ts';
import { count } from '../words.ts';
import { clockTime } from './drain-words.ts';

const askEvery = 3_000;

export function DrainProgress({ node }: { node: string }) {
  const { api } = useConsole();
  const { data } = useResource(
    useCallback((signal: AbortSignal) => getDrain(api, node, signal), [api, node]),
    askEvery,
  );
  if (!data) return null;
  return (
    <span className="quiet-text small-text" data-testid="drain-progress">
      {data.rooms === 0 ? 'No room is left: it can be taken away.' : `${count(data.rooms, 'room')} left`}
      {data.rooms > 0 && data.deadline !== null && `, at the latest until ${clockTime(Date.parse(data.deadline))}`}
    </span>
  );
}
