// Pod worker: the work of a kubelet for one pod. Fetches data, starts the process, probes, restarts and ends it.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Container } from '../../../../operator/kube/kinds.ts';
import type { Child } from '../child.ts';
import { ContainerConfigError, containerEnvironment, type PodData, type PodPlace } from './pod-env.ts';
import { askerOf, Prober } from './pod-probes.ts';
import type { Pod } from './pod-spec.ts';
import { type Exit, type PodState, timeText } from './pod-status.ts';
import { type PathMap, PodVolumes, type Tokens } from './pod-volumes.ts';

/** Inputs of a process. */
export type Launch = {
  container: Container;
  pod: Pod;
  place: PodPlace;
  env: Record<string, string>;
  paths: PathMap;
  folder: string;
  log: string;
};

export type PodServices = {
  /** Current ConfigMaps and Secrets of the pod. */
  data: (pod: Pod) => Promise<PodData>;
  /** Tokens of its ServiceAccount for its volumes. */
  tokens: (pod: Pod) => Promise<Tokens>;
  links: (pod: Pod) => Record<string, string>;
  claim: (namespace: string, name: string) => string;
  launch: (launch: Launch) => Child;
  /** Called when the state changes. */
  changed: () => void;
  /** Called when a pod with a deletionTimestamp has ended, so that its object can be deleted. */
  deleted: () => void;
  /** Called with the complete output of an ended process. */
  printed: (text: string) => void;
};

/** Retry delay for missing data, in milliseconds. */
const retryDelay = 500;
/** Backoff of a crashing container, doubled each time. A kubelet begins with 10 s. */
const restartDelay = { first: 500, most: 10_000 };

export class PodWorker {
  readonly place: PodPlace;
  readonly folder: string;
  readonly #services: PodServices;
  readonly #volumes: PodVolumes;
  #pod: Pod;
  #state: PodState;
  #child: Child | undefined;
  #log = '';
  #probers: Prober[] = [];
  #timer: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;
  #terminating = false;
  #closed = false;

  /** @param lived whether it ran before on a Kubernetes node that failed and recovered */
  constructor(pod: Pod, place: PodPlace, folder: string, services: PodServices, lived = 0) {
    this.place = place;
    this.folder = folder;
    this.#pod = pod;
    this.#services = services;
    this.#volumes = new PodVolumes(folder, (name) => services.claim(pod.metadata.namespace, name));
    this.#state = {
      container: { is: 'waiting', reason: 'ContainerCreating' },
      restarts: lived,
      lastExit: undefined,
      startTime: timeText(),
    };
    mkdirSync(folder, { recursive: true });
  }

  get pod(): Pod {
    return this.#pod;
  }

  get state(): PodState {
    return this.#state;
  }

  /** Process id; undefined while no process runs. */
  get pid(): number | undefined {
    return this.#child?.end === undefined ? this.#child?.pid : undefined;
  }

  /** Output of the container since its last start. */
  get output(): string {
    return this.#log === '' ? '' : readFileSync(this.#log, 'utf8');
  }

  start(): void {
    void this.#tryToStart();
  }

  /** The pod object changed: refreshes files and checks for deletion. */
  update(pod: Pod): void {
    const before = this.#pod;
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined) this.#terminate((pod.metadata.deletionGracePeriodSeconds ?? 30) * 1_000);
    else if (JSON.stringify(before.metadata) !== JSON.stringify(pod.metadata)) void this.refresh();
  }

  /** Writes the files again; missing data is retried. */
  async refresh(): Promise<void> {
    clearTimeout(this.#refreshTimer);
    if (this.#child === undefined || this.#closed) return;
    try {
      const [data, tokens] = await Promise.all([this.#services.data(this.#pod), this.#services.tokens(this.#pod)]);
      if (!this.#closed) this.#volumes.write(this.#pod, this.place, data, tokens);
    } catch {
      if (!this.#closed) this.#refreshTimer = setTimeout(() => void this.refresh(), retryDelay);
    }
  }

  /** The object was deleted without waiting. */
  remove(): void {
    this.#terminate(2_000);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.signal(signal);
  }

  /** Kills the process and drops the pod without further reports. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#killTimer);
    clearTimeout(this.#refreshTimer);
    this.#stopProbing();
    await this.#child?.stop('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #tryToStart(): Promise<void> {
    try {
      const [data, tokens] = await Promise.all([this.#services.data(this.#pod), this.#services.tokens(this.#pod)]);
      if (this.#closed || this.#terminating) return;
      this.#volumes.write(this.#pod, this.place, data, tokens);
      this.#launch(data);
    } catch (error) {
      if (this.#closed) return;
      const reason = error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'ContainerCreating';
      this.#become({ is: 'waiting', reason, message: error instanceof Error ? error.message : String(error) });
      this.#timer = setTimeout(() => void this.#tryToStart(), retryDelay);
    }
  }

  #launch(data: PodData): void {
    const [container, ...others] = this.#pod.spec.containers;
    if (!container || others.length > 0) throw new ContainerConfigError('The pod runner supports pods of one container only');
    const links = this.#pod.spec.enableServiceLinks === false ? {} : this.#services.links(this.#pod);
    const env = containerEnvironment(container, this.#pod, this.place, data, links);
    this.#log = join(this.folder, `${container.name}-${this.#state.restarts}.log`);
    const paths = this.#volumes.paths(this.#pod, container);
    const child = this.#services.launch({ container, pod: this.#pod, place: this.place, env, paths, folder: this.folder, log: this.#log });
    const startedAt = timeText();
    this.#child = child;
    void child.ended.then(() => this.#ended(child, startedAt));
    const { readinessProbe, startupProbe } = container;
    this.#become({ is: 'running', startedAt, started: startupProbe === undefined, ready: !readinessProbe && !startupProbe });
    if (startupProbe) this.#probe(startupProbe, false, container, (healthy) => this.#afterStartup(healthy, container));
    else this.#probeLife(container);
  }

  #afterStartup(healthy: boolean, container: Container): void {
    this.#stopProbing();
    if (!healthy) {
      this.#restartProcess();
      return;
    }
    const state = this.#state.container;
    if (state.is === 'running') this.#become({ ...state, started: true, ready: container.readinessProbe === undefined });
    this.#probeLife(container);
  }

  #probeLife(container: Container): void {
    const { livenessProbe, readinessProbe } = container;
    if (livenessProbe) this.#probe(livenessProbe, true, container, (healthy) => !healthy && this.#restartProcess());
    if (readinessProbe) this.#probe(readinessProbe, false, container, (ready) => this.#setReady(ready));
  }

  #probe(
    probe: NonNullable<Container['livenessProbe']>,
    healthy: boolean,
    container: Container,
    changed: (healthy: boolean) => void,
  ): void {
    this.#probers.push(new Prober(probe, healthy, askerOf(probe, container, this.place.podIP), changed));
  }

  #stopProbing(): void {
    for (const prober of this.#probers.splice(0)) prober.stop();
  }

  #setReady(ready: boolean): void {
    const state = this.#state.container;
    if (state.is === 'running' && state.ready !== ready) this.#become({ ...state, ready });
  }

  /** An unhealthy container gets the grace period of its pod. */
  #restartProcess(): void {
    this.#endProcess((this.#pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000);
  }

  #terminate(grace: number): void {
    if (!this.#terminating) {
      this.#terminating = true;
      clearTimeout(this.#timer);
      if (this.pid === undefined) {
        this.#services.deleted();
        return;
      }
      this.#child?.signal('SIGTERM');
    }
    this.#endBy(grace);
  }

  #endProcess(grace: number): void {
    this.#child?.signal('SIGTERM');
    this.#endBy(grace);
  }

  /** The shortest grace period wins. */
  #endBy(grace: number): void {
    clearTimeout(this.#killTimer);
    const child = this.#child;
    this.#killTimer = setTimeout(() => child?.signal('SIGKILL'), grace);
  }

  #ended(child: Child, startedAt: string): void {
    this.#services.printed(readFileSync(child.log, 'utf8'));
    clearTimeout(this.#killTimer);
    this.#stopProbing();
    if (this.#closed) return;
    const exit = exitOf(child, startedAt);
    const { restartPolicy = 'Always' } = this.#pod.spec;
    if (this.#terminating || restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && exit.exitCode === 0)) {
      this.#become({ is: 'terminated', exit });
      if (this.#terminating) this.#services.deleted();
      return;
    }
    this.#restartLater(exit);
  }

  #restartLater(exit: Exit): void {
    const { restarts } = this.#state;
    const delay = Math.min(restartDelay.first * 2 ** restarts, restartDelay.most);
    this.#state = { ...this.#state, lastExit: exit, restarts: restarts + 1 };
    const message = `back-off ${delay} ms restarting failed container`;
    this.#become({ is: 'waiting', reason: 'CrashLoopBackOff', message });
    this.#timer = setTimeout(() => void this.#tryToStart(), delay);
  }

  #become(container: PodState['container']): void {
    this.#state = { ...this.#state, container };
    this.#services.changed();
  }
}

function exitOf({ end }: Child, startedAt: string): Exit {
  const signal = end?.signal ? constants.signals[end.signal] : undefined;
  const exitCode = end?.code ?? 128 + (signal ?? 0);
  return {
    exitCode,
    ...(signal === undefined ? {} : { signal }),
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt,
    finishedAt: timeText(),
  };
}
