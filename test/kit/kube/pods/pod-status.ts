// The status of a pod as a kubelet reports it.
import type { PodPlace } from './pod-env.ts';
import type { Pod, PodCondition } from './pod-spec.ts';

export type Exit = { exitCode: number; signal?: number; reason: string; startedAt: string; finishedAt: string };

/** How the container is. */
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

/** A time as Kubernetes writes it: to the second. */
export function timeText(at = new Date()): string {
  return at.toISOString().replace(/\.\d+/, '');
}

/** A list that would else be merged by its addresses: a pod that runs again has another one. */
const replaced = { $patch: 'replace' };

/** The parts of a pod's status that are the kubelet's, to be merged into what is there. */
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

/** Keeps the time of the last change where the pod has the condition already. */
function condition(pod: Pod, type: string, holds: boolean, reason?: string): PodCondition {
  const status = holds ? 'True' : 'False';
  const known = pod.status?.conditions?.find((each) => each.type === type);
  const since = known?.status === status ? known.lastTransitionTime : undefined;
  // With a strategic merge an old reason stays unless it is taken away.
  return { type, status, reason: holds ? '' : (reason ?? ''), lastTransitionTime: since ?? timeText() };
}
