// Drain dialogs: confirm the start or the cancellation of a drain and show its impact.
import { useState } from 'react';
import type { Node as ClusterNode, DrainView } from '../../../server-sdk/src/generated/schemas.ts';
import { cancelDrain, drainEndpoints, drainNode, getDrain } from '../api/cluster.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { ErrorAlert } from '../components/page-title.tsx';
import { formatDuration, pluralize } from '../format.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { drainImpact, formatTime } from './drain-impact.ts';

const pollIntervalMs = 3_000;

function useDrainView(node: string) {
  return useResource(['drain', node], (api, signal) => getDrain(api, node, signal), pollIntervalMs);
}

/** `others`: number of other nodes that accept rooms. */
export function DrainDialog({ node, others, onClose }: { node: ClusterNode; others: number; onClose: () => void }) {
  const { api } = useSessionContext();
  const { data, problem: unknown } = useDrainView(node.name);
  const { busy, problem, run } = useAction();
  const [minutes, setMinutes] = useState('');
  const deadline = readMinutes(minutes);
  const options = deadline === undefined ? {} : { deadline };
  const drain = async () => {
    if (await run(() => drainNode(api, node.name, options))) onClose();
  };
  const seconds = deadline ?? data?.defaultDeadline;
  return (
    <ConfirmDialog
      title="Drain this node?"
      confirm="Drain"
      busy={busy || (minutes.trim() !== '' && deadline === undefined)}
      problem={problem}
      aside={<CopyCurl request={drainEndpoints.start(node.name, options)} what={`drain ${node.name}`} />}
      onConfirm={() => void drain()}
      onClose={onClose}
    >
      <p>
        <strong className="foreign">{node.name}</strong> will accept no new rooms and can be removed when its last room has ended. You can
        cancel the drain at any time.
      </p>
      <ErrorAlert problem={unknown} />
      {data && seconds !== undefined && (
        <ul data-testid="drain-impact">
          {drainImpact(data, others, seconds).map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
      <label className="field drain-deadline">
        <span>Deadline in minutes</span>
        <input
          data-testid="drain-minutes"
          inputMode="decimal"
          autoComplete="off"
          placeholder={data ? String(Math.round(data.defaultDeadline / 6) / 10) : ''}
          value={minutes}
          aria-invalid={minutes.trim() !== '' && deadline === undefined}
          onChange={(event) => setMinutes(event.target.value)}
        />
        <small>{deadlineHint(minutes, deadline, data)}</small>
      </label>
    </ConfirmDialog>
  );
}

function deadlineHint(text: string, deadline: number | undefined, data: DrainView | undefined): string {
  if (text.trim() !== '' && deadline === undefined) return 'Enter a number of minutes, 0 or more.';
  const seconds = deadline ?? data?.defaultDeadline;
  if (seconds === undefined) return '';
  const when =
    seconds === 0
      ? 'All rooms end immediately.'
      : `Rooms with participants will be closed in ${formatDuration(seconds)}, at ${formatTime(Date.now() + seconds * 1000)}.`;
  return deadline === undefined ? `${when} This is the default of the node (SVC_DRAIN_TIMEOUT).` : when;
}

/** Seconds; undefined if the text is not a number of minutes that the API accepts. */
function readMinutes(text: string): number | undefined {
  const seconds = Math.round(Number(text.trim().replace(',', '.')) * 60);
  return text.trim() !== '' && seconds >= 0 && seconds <= 31_536_000 ? seconds : undefined;
}

export function CancelDrainDialog({ node, onClose }: { node: ClusterNode; onClose: () => void }) {
  const { api } = useSessionContext();
  const { data } = useDrainView(node.name);
  const { busy, problem, run } = useAction();
  const cancel = async () => {
    if (await run(() => cancelDrain(api, node.name))) onClose();
  };
  return (
    <ConfirmDialog
      title="Cancel the drain?"
      confirm="Cancel drain"
      tone="primary"
      busy={busy}
      problem={problem}
      aside={<CopyCurl request={drainEndpoints.cancel(node.name)} what={`cancel the drain of ${node.name}`} />}
      onConfirm={() => void cancel()}
      onClose={onClose}
    >
      <p>
        <strong className="foreign">{node.name}</strong> will accept new rooms again.
      </p>
      <ul data-testid="cancel-impact">
        <li>
          {data && data.rooms > 0
            ? `The deadline of its ${pluralize(data.rooms, 'room')} is removed and participants are notified.`
            : 'It has no rooms left.'}
        </li>
        <li>Rooms that already ended are not restored.</li>
      </ul>
    </ConfirmDialog>
  );
}
