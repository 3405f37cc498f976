// Status of a pod in the format of a kubelet.
import type { PodPlace } from './pod-env.ts';
import type { Pod, PodCondition } from './pod-spec.ts';

export type Exit = { exitCode: number; signal?: number; reason: string; startedAt: string; finishedAt: string };

/** State of the container. */
export type ContainerState =
  | { is: 'waiting'; reason: string; message?: string }
  | { is: 'running'; startedAt: string; started: boolean; ready: boolean }
  | { is: 'terminated'; exit: Exit };

export type PodState = {
  container: ContainerState;
  restarts: number;
  lastExit: Exit | undefined;
  startTime: string;
};

/** A time in the format of Kubernetes, in seconds. */
export function timeText(at = new Date()): string {
  return at.toISOString().replace(/\.\d+/, '');
}

/** Replaces a list that would be merged by address, because a restarted pod has another address. */
const replaced = { $patch: 'replace' };

/** The parts of the pod status that a kubelet owns, as a merge patch. */
export function podStatus(pod: Pod, state: PodState, place: PodPlace): Record<string, unknown> {
  const [container] = pod.spec.containers;
  const { container: now, restarts, lastExit, startTime } = state;
  const ready = now.is === 'running' && now.ready;
  const ended = now.is === 'terminated' && (now.exit.exitCode === 0 ? 'PodCompleted' : 'PodFailed');
  const initialised = condition(pod, 'Initialized', true);
  const conditions = [
    condition(pod, 'PodReadyToStartContainers', now.is === 'running'),
    initialised,
    condition(pod, 'ContainersReady', ready, ended || 'ContainersNotReady'),
    condition(pod, 'Ready', ready, ended || 'ContainersNotReady'),
  ];
  const terminated = now.is === 'terminated' ? { terminated: now.exit } : undefined;
  const waiting = now.is === 'waiting' ? { waiting: { reason: now.reason, message: now.message } } : undefined;
  const running = now.is === 'running' ? { running: { startedAt: now.startedAt } } : undefined;
  return {
    phase: phaseOf(now, restarts),
    hostIP: place.hostIP,
    hostIPs: [replaced, { ip: place.hostIP }],
    podIP: place.podIP,
    podIPs: [replaced, { ip: place.podIP }],
    startTime,
    conditions,
    containerStatuses: [
      {
        name: container?.name ?? '',
        image: container?.image ?? '',
        imageID: container?.image ?? '',
        containerID: now.is === 'waiting' && restarts === 0 ? '' : `process://${pod.metadata.uid}-${restarts}`,
        ready,
        started: now.is === 'running' && now.started,
        restartCount: restarts,
        state: terminated ?? waiting ?? running,
        lastState: lastExit === undefined ? {} : { terminated: lastExit },
      },
    ],
  };
}

function phaseOf(state: ContainerState, restarts: number): string {
  if (state.is === 'terminated') return state.exit.exitCode === 0 ? 'Succeeded' : 'Failed';
  return state.is === 'waiting' && restarts === 0 ? 'Pending' : 'Running';
}

/** Keeps the transition time if the condition is unchanged. */
function condition(pod: Pod, type: string, holds: boolean, reason?: string): PodCondition {
  const status = holds ? 'True' : 'False';
  const known = pod.status?.conditions?.find((each) => each.type === type);
  const since = known?.status === status ? known.lastTransitionTime : undefined;
  // A strategic merge keeps an old reason unless it is cleared.
  return { type, status, reason: holds ? '' : (reason ?? ''), lastTransitionTime: since ?? timeText() };
}
