// Pod runner: runs the pods of a control plane as processes of this machine. Scheduler, kubelets, DNS and service ports in one.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../eventually.ts';
import type { DnsServer } from '../../network/dns-server.ts';
import type { ApiServer } from '../api-server.ts';
import { Informer } from '../informer.ts';
import { dnsRecords } from '../network/endpoints.ts';
import { ServicePorts } from '../network/service-ports.ts';
import { type FakeKubernetesNode, Heartbeat } from './fake-nodes.ts';
import { claimBlock } from './loopback-block.ts';
import { readPodData, readTokens } from './pod-data.ts';
import { type PodPlace, serviceLinks, usedData } from './pod-env.ts';
import { launchProcess, type PodContext } from './pod-launch.ts';
import { PodReporter } from './pod-reporter.ts';
import type { ApiObject, HostObject, Pod, Service } from './pod-spec.ts';
import { isLive, isReady } from './pod-spec.ts';
import { PodWorker } from './pod-worker.ts';
import { chooseHost } from './scheduler.ts';
import { bindClaim } from './volume-claims.ts';

export type PodRunnerOptions = {
  /** Number of Kubernetes nodes; 2. Named `host-1` and so on. */
  hosts?: number;
  /** Labels of the Kubernetes nodes, in order. */
  labels?: readonly Record<string, string>[];
  /** Refresh interval of the kubelet for changed ConfigMaps and Secrets, in milliseconds; 2,000. A changed pod is seen immediately. */
  refreshMs?: number;
};

const timeoutMs = 60_000;
/** Delay before pods are scheduled again after a failed binding, in milliseconds. */
const retryDelay = 500;

type Run = { worker: PodWorker; reporter: PodReporter };

export class PodRunner {
  readonly hosts: readonly FakeKubernetesNode[];
  readonly dns: DnsServer;
  readonly #server: ApiServer;
  readonly #dir: string;
  readonly #block: number;
  readonly #refreshMs: number;
  readonly #heartbeats = new Map<string, Heartbeat>();
  readonly #failed = new Set<string>();
  readonly #runs = new Map<string, Run>();
  readonly #addresses = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #mirrors: Informer<ApiObject>[] = [];
  readonly #pods: Informer<Pod>;
  readonly #services: Informer<Service>;
  readonly #nodes: Informer<HostObject>;
  readonly #ports: ServicePorts;
  readonly #names = new Set<string>();
  #scheduling: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(server: ApiServer, block: number, dns: DnsServer, options: PodRunnerOptions) {
    const { hosts = 2, labels = [], refreshMs = 2_000 } = options;
    this.#server = server;
    this.#block = block;
    this.dns = dns;
    this.#refreshMs = refreshMs;
    this.#dir = join(server.dir, 'pods');
    mkdirSync(this.#dir, { recursive: true });
    this.hosts = Array.from({ length: hosts }, (_, index) => ({
      name: `host-${index + 1}`,
      internalIP: `127.${block}.${index + 1}.254`,
      externalIP: `127.${block}.${index + 101}.254`,
    }));
    for (const [index, host] of this.hosts.entries()) {
      this.#heartbeats.set(host.name, new Heartbeat(server.client, host, labels[index] ?? {}));
    }
    const { client } = server;
    this.#pods = this.#mirror<Pod>('/api/v1/pods', (now, before) => this.#podChanged(now, before));
    this.#services = this.#mirror<Service>('/api/v1/services', () => this.#trafficChanged());
    this.#nodes = this.#mirror<HostObject>('/api/v1/nodes', () => this.#schedule());
    this.#mirror('/api/v1/configmaps', (now) => now && this.#dataChanged('configMaps', now));
    this.#mirror('/api/v1/secrets', (now) => {
      if (!now) return;
      server.printed.stored(now);
      this.#dataChanged('secrets', now);
    });
    this.#mirror(
      '/api/v1/persistentvolumeclaims',
      (now) => now && void bindClaim(client, now, this.#claim(now.metadata.namespace, now.metadata.name)),
    );
    const outside = `127.${block}.200`;
    this.#ports = new ServicePorts({ client, hosts: this.hosts, pods: () => this.#pods.all, services: () => this.#services.all, outside });
  }

  /** Kubernetes nodes are ready when it returns; ends with the API server. */
  static async start(server: ApiServer, options: PodRunnerOptions = {}): Promise<PodRunner> {
    const { number, dns } = await claimBlock();
    const runner = new PodRunner(server, number, dns, options);
    server.beforeEnd(() => runner.close());
    await Promise.all([...runner.#heartbeats.values()].map((heartbeat) => heartbeat.start()));
    await Promise.all(runner.#mirrors.map((informer) => informer.start()));
    return runner;
  }

  /** The current pod. @throws if it does not exist */
  pod(name: string, namespace = 'default'): Pod {
    const pod = this.#pods.get(name, namespace);
    if (!pod) throw new Error(`Pod ${namespace}/${name} does not exist`);
    return pod;
  }

  /** The pods of all namespaces. */
  get pods(): Pod[] {
    return this.#pods.all;
  }

  /** Waits until a pod matches. @throws after the timeout, with its last status and output */
  async waitForPod(name: string, is: (pod: Pod) => boolean = isReady, namespace = 'default', withinMs = timeoutMs): Promise<Pod> {
    const check = () => {
      const pod = this.#pods.get(name, namespace);
      return pod && is(pod) ? pod : undefined;
    };
    const state = () =>
      `pod ${name}: ${JSON.stringify(this.#pods.get(name, namespace)?.status)}\n${this.logOf(name, namespace).slice(-3_000)}`;
    return eventually(state, check, { within: withinMs });
  }

  /** Output of its process since the last start; empty if none runs. */
  logOf(name: string, namespace = 'default'): string {
    return this.#find(name, namespace)?.worker.output ?? '';
  }

  /** Process id of its process; undefined while none runs. */
  pidOf(name: string, namespace = 'default'): number | undefined {
    return this.#find(name, namespace)?.worker.pid;
  }

  /** `ip:port` of this machine that forwards to the ready pods of a Service, round robin; `port`: name or number in the Service. */
  serviceAddress(namespace: string, name: string, port?: string | number): Promise<string> {
    return this.#ports.addressOf(namespace, name, port);
  }

  /** Kills the process of a pod (SIGKILL); it is restarted by its restartPolicy. */
  killPod(name: string, namespace = 'default'): void {
    const run = this.#find(name, namespace);
    if (!run) throw new Error(`Pod ${namespace}/${name} has no process`);
    run.worker.signal('SIGKILL');
  }

  /** Stops the heartbeats of a Kubernetes node, until `hearHost`; its pods keep running. */
  silenceHost(name: string): void {
    this.#heartbeats.get(name)?.stop();
  }

  async hearHost(name: string): Promise<void> {
    await this.#heartbeats.get(name)?.start();
  }

  /** Simulates a power failure of a Kubernetes node: its processes end silently, and Kubernetes must detect it. */
  async failHost(name: string): Promise<void> {
    this.#failed.add(name);
    this.#heartbeats.get(name)?.stop();
    const lost = [...this.#runs].filter(([, { worker }]) => worker.pod.spec.nodeName === name);
    for (const [uid] of lost) this.#runs.delete(uid);
    await Promise.all(lost.map(([, run]) => this.#endRun(run)));
  }

  /** Restarts the Kubernetes node: its remaining pods run again, and pods to be deleted are deleted. */
  async recoverHost(name: string): Promise<void> {
    await this.#heartbeats.get(name)?.start();
    // Not earlier, because a pod received meanwhile would count as never started.
    this.#failed.delete(name);
    for (const pod of this.#pods.all) if (pod.spec.nodeName === name) this.#run(pod, restartsOf(pod) + 1);
  }

  /** Kills all processes. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const heartbeat of this.#heartbeats.values()) heartbeat.stop();
    await Promise.all(this.#mirrors.map((informer) => informer.close()));
    await this.#scheduling;
    await this.#ports.close();
    await Promise.all([...this.#runs.values()].map((run) => this.#endRun(run)));
    await this.dns.close();
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 });
  }

  get #context(): PodContext {
    const { url, authority } = this.#server;
    const names = dnsRecords(this.#services.all, this.#pods.all);
    return { dns: this.dns.address, names, api: { server: url, authority } };
  }

  #mirror<T extends ApiObject>(path: string, changed: (now: T | undefined, before: T | undefined) => void): Informer<T> {
    const informer = new Informer<T>(this.#server.client, path, changed);
    this.#mirrors.push(informer as unknown as Informer<ApiObject>);
    return informer;
  }

  #find(name: string, namespace: string): Run | undefined {
    // The newest run: a recreated pod of the same name may exist before the previous one has ended.
    return [...this.#runs.values()].findLast(({ worker: { pod } }) => pod.metadata.name === name && pod.metadata.namespace === namespace);
  }

  #podChanged(now: Pod | undefined, before: Pod | undefined): void {
    this.#trafficChanged();
    const uid = (now ?? before)?.metadata.uid ?? '';
    if (now && before && now.metadata.uid !== before.metadata.uid) this.#runs.get(before.metadata.uid)?.worker.remove();
    if (!now) {
      this.#runs.get(uid)?.worker.remove();
      this.#schedule();
    } else if (!now.spec.nodeName) this.#schedule();
    else this.#run(now, 0);
  }

  /** @param lived how often it was started on this Kubernetes node before */
  #run(pod: Pod, lived: number): void {
    const host = this.hosts.find(({ name }) => name === pod.spec.nodeName);
    if (!host || this.#failed.has(host.name) || this.#closed) return;
    const known = this.#runs.get(pod.metadata.uid);
    if (known) {
      known.worker.update(pod);
      known.reporter.sync();
      return;
    }
    if (!isLive(pod)) return;
    const run = this.#makeRun(pod, host, lived);
    this.#runs.set(pod.metadata.uid, run);
    if (pod.metadata.deletionTimestamp !== undefined) run.worker.update(pod);
    else run.worker.start();
  }

  #makeRun(pod: Pod, host: FakeKubernetesNode, lived: number): Run {
    const { uid, name, namespace } = pod.metadata;
    const { client } = this.#server;
    const worker: PodWorker = new PodWorker(
      pod,
      this.#placeOf(pod, host),
      join(this.#dir, uid),
      {
        data: (of) => readPodData(client, of),
        tokens: (of) => readTokens(client, of),
        links: () => serviceLinks(this.#services.all.filter(({ metadata }) => metadata.namespace === namespace)),
        claim: (of, claim) => this.#claim(of, claim),
        launch: (launch) => launchProcess(launch, this.#context),
        changed: () => reporter.sync(),
        deleted: () => void this.#delete(uid),
        printed: (text) => this.#server.printed.printed(`pod ${namespace}/${name}`, text),
      },
      lived,
    );
    const reporter = new PodReporter(client, worker);
    return { worker, reporter };
  }

  async #delete(uid: string): Promise<void> {
    const run = this.#runs.get(uid);
    if (!run) return;
    if (await run.reporter.deletePod()) {
      this.#runs.delete(uid);
      await this.#endRun(run);
    }
  }

  async #endRun({ worker, reporter }: Run): Promise<void> {
    reporter.close();
    await worker.close();
  }

  /** Addresses are never reused, so that a new pod is not mistaken for an old one. */
  #placeOf({ spec }: Pod, host: FakeKubernetesNode): PodPlace {
    if (spec.hostNetwork) return { podIP: host.internalIP, hostIP: host.internalIP };
    const number = (this.#addresses.get(host.name) ?? 0) + 1;
    this.#addresses.set(host.name, number);
    const third = this.hosts.indexOf(host) + 1 + 20 * Math.floor(number / 250);
    return { podIP: `127.${this.#block}.${third}.${(number % 250) + 1}`, hostIP: host.internalIP };
  }

  #claim(namespace: string, name: string): string {
    return join(this.#dir, 'claims', `${namespace}_${name}`);
  }

  #schedule(): void {
    this.#scheduling = this.#scheduling.then(() => this.#placePods()).catch(() => this.#scheduleLater());
  }

  /** The API server may be unavailable, and a waiting pod causes no further events. */
  #scheduleLater(): void {
    if (this.#closed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#schedule();
    }, retryDelay);
    this.#timers.add(timer);
  }

  async #placePods(): Promise<void> {
    const placed = new Map<string, Pod[]>();
    for (const pod of this.#pods.all) {
      if (pod.spec.nodeName && isLive(pod)) placed.set(pod.spec.nodeName, [...(placed.get(pod.spec.nodeName) ?? []), pod]);
    }
    for (const pod of this.#pods.all) {
      if (pod.spec.nodeName || pod.metadata.deletionTimestamp !== undefined || this.#closed) continue;
      const candidates = this.hosts.flatMap(({ name }) => {
        const host = this.#nodes.get(name);
        return host ? [{ host, pods: placed.get(name) ?? [] }] : [];
      });
      const choice = chooseHost(pod, candidates);
      if ('reason' in choice) await PodReporter.unschedulable(this.#server.client, pod, choice.reason);
      else {
        await PodReporter.bind(this.#server.client, pod, choice.host);
        placed.set(choice.host, [...(placed.get(choice.host) ?? []), pod]);
      }
    }
  }

  #trafficChanged(): void {
    this.#ports.update();
    const records = dnsRecords(this.#services.all, this.#pods.all);
    for (const name of this.#names) if (!records.has(name)) this.dns.remove(name);
    this.#names.clear();
    for (const [name, addresses] of records) {
      this.dns.remove(name);
      this.dns.add(name, ...addresses);
      this.#names.add(name);
    }
  }

  #dataChanged(kind: 'configMaps' | 'secrets', { metadata: { name, namespace } }: ApiObject): void {
    const users = [...this.#runs.values()].filter(
      ({ worker: { pod } }) => pod.metadata.namespace === namespace && usedData(pod)[kind].has(name),
    );
    if (users.length === 0) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      for (const { worker } of users) void worker.refresh();
    }, this.#refreshMs);
    this.#timers.add(timer);
  }
}

function restartsOf({ status }: Pod): number {
  return status?.containerStatuses?.[0]?.restartCount ?? 0;
}

/** Runs the pods of a control plane as processes, on fake Kubernetes nodes. */
export function startPodRunner(server: ApiServer, options: PodRunnerOptions = {}): Promise<PodRunner> {
  return PodRunner.start(server, options);
}
