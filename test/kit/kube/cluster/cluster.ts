// Level 3 of the kit: a Kubernetes cluster of real kubelets on machines, with an Ingress controller and an external network. Needs root.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { routeDefinitions } from '../../../../tools/kubernetes/route-definitions.mjs';
import { eventually } from '../../eventually.ts';
import { isAlive } from '../../processes/alive.ts';
import { type CommandOptions, type CommandResult, runCommand } from '../../processes/command.ts';
import type { ApiServer } from '../api-server.ts';
import { kubernetesPrograms } from '../binaries.ts';
import { startControlPlane } from '../control-plane.ts';
import { helmOf, mustRun } from '../helm.ts';
import { mustKubectl } from '../kubectl.ts';
import type { Scope } from '../scope.ts';
import { addons, coreDnsImage, traefikImage } from './addons.ts';
import { removeLeftCgroups } from './cgroups.ts';
import { ClusterNode } from './cluster-node.ts';
import { hostImages } from './host-images.ts';
import { Machine } from './machine.ts';
import { pauseImage } from './node-files.ts';
import { pauseProgram, programImage } from './program-image.ts';

export type ClusterOptions = {
  /** Number of Kubernetes nodes; 2. CoreDNS and Traefik run on the first. */
  nodes?: number;
  /**
   * Grace period before Kubernetes treats a Kubernetes node as lost, in milliseconds; 50,000 as by default: during an API server outage no
   * heartbeats arrive, and on a busy machine a kubelet may be delayed.
   */
  nodeGraceMs?: number;
  /** Whether the Gateway API, with Traefik for its GatewayClass, and the kinds of Traefik are installed. */
  routes?: boolean;
  /** Preloaded images of all Kubernetes nodes: paths of OCI archives. */
  images?: readonly string[];
};

const readyTimeoutMs = 120_000;
/** Most polls start kubectl or curl. */
const pollIntervalMs = 500;
let count = 0;

export class Cluster {
  readonly server: ApiServer;
  readonly nodes: readonly ClusterNode[];
  /** The machine of the control plane. A program in its network is an external client. */
  readonly hub: Machine;
  /** Address of the test process for the cluster. */
  readonly here: string;

  private constructor(server: ApiServer, nodes: readonly ClusterNode[], hub: Machine, here: string) {
    this.server = server;
    this.nodes = nodes;
    this.hub = hub;
    this.here = here;
  }

  /** Kubernetes nodes, DNS and Ingress are ready when it returns. Ends with the scope. */
  static async start(
    scope: Scope,
    { nodes: wanted = 2, nodeGraceMs = 50_000, routes = false, images = [] }: ClusterOptions = {},
  ): Promise<Cluster> {
    await removeLeftCgroups();
    await removeLeftCables();
    const unpacked = await hostImages([...(await ownImages()), ...images]);
    const network = freeNetwork();
    const hub = await Machine.start({ name: 'hub' });
    count += 1;
    const cable = `mr${process.pid}-${count}`;
    scope.after(async () => {
      await hub.kill();
      await removeCable(cable);
    });
    await connectHub(hub, network, cable);
    const names = Array.from({ length: wanted }, (_, at) => `node${at + 1}`);
    const server = await startControlPlane(scope, {
      place: { address: `${network}.1`, wrap: hub.wrap },
      users: names.map((name) => ({ name: `system:node:${name}`, groups: ['system:nodes'] })),
      flags: ['--kubelet-preferred-address-types=InternalIP'],
      controllers: ['*'],
      nodeGraceMs,
    });
    const scheduler = kubernetesPrograms(['kube-scheduler'])['kube-scheduler'];
    server.runController('kube-scheduler', [scheduler, `--kubeconfig=${server.kubeconfig}`, '--leader-elect=false', '--secure-port=0']);
    const started = await Promise.allSettled(
      names.map((name, at) => {
        const dir = join(server.dir, name);
        mkdirSync(dir);
        const kubeconfigs = { kubelet: server.kubeconfigFor({ user: `system:node:${name}` }), proxy: server.kubeconfig };
        const leaseMs = Math.min(nodeGraceMs, 40_000);
        return ClusterNode.start({ index: at + 1, count: wanted, network, dir, hub, kubeconfigs, leaseMs, images: unpacked });
      }),
    );
    const nodes = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    server.beforeEnd(async () => void (await Promise.all(nodes.map((node) => node.losePower()))));
    for (const each of started) if (each.status === 'rejected') throw each.reason;
    const cluster = new Cluster(server, nodes, hub, `${network}.254`);
    await cluster.#complete(routes);
    return cluster;
  }

  /** Log files of its programs, by name. */
  get logs(): Record<string, string> {
    const ofNodes = this.nodes.flatMap(({ name, logs }) => Object.entries(logs).map(([program, file]) => [`${program} on ${name}`, file]));
    return { ...this.server.logs, ...Object.fromEntries(ofNodes) };
  }

  node(name: string): ClusterNode {
    const found = this.nodes.find((node) => node.name === name);
    if (!found) throw new Error(`Kubernetes node ${name} does not exist`);
    return found;
  }

  /** Address of the Ingress for clients. */
  get ingressAddress(): string {
    return this.node('node1').address;
  }

  /** @throws if it fails */
  kubectl(...args: string[]): Promise<string> {
    return mustKubectl(this.server, [], 300_000)(...args);
  }

  async get<T>(...what: string[]): Promise<T> {
    return JSON.parse(await this.kubectl('get', '-o', 'json', ...what)) as T;
  }

  /** @returns the output of helm. @throws with its output if it fails */
  helm(...args: string[]): Promise<string> {
    return mustRun(helmOf(this.server), args);
  }

  /** Runs a program of this machine, for example in the network of `hub`. @throws with its output if it fails */
  run(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return runCommand(command, options);
  }

  /** For `wrap` of a browser, which then is an external client. */
  browserWrap = (program: string): Promise<string> => this.hub.writeWrapper(join(this.server.dir, 'browser'), program);

  /** Polls until the result is truthy. @throws with the last result after the timeout */
  async until<T>(what: string, ask: () => Promise<T>, timeoutMs = 150_000): Promise<NonNullable<T>> {
    let failed: unknown;
    const check = async () => {
      failed = undefined;
      return ask().catch((error: unknown) => {
        failed = error;
        return undefined;
      });
    };
    return eventually(async () => `${what}: ${failed ?? 'not yet'}\n${await this.#state()}`, check, {
      within: timeoutMs,
      every: pollIntervalMs,
    });
  }

  /** Waits until all Kubernetes nodes report Ready. */
  async nodesReady(): Promise<void> {
    type Nodes = { items: { status: { conditions?: { type: string; status: string }[] } }[] };
    await this.until(
      'all Kubernetes nodes are Ready',
      async () => {
        const { items } = (await this.server.client.call('/api/v1/nodes')).body as Nodes;
        const ready = items.filter(({ status }) => status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'));
        return ready.length === this.nodes.length;
      },
      readyTimeoutMs,
    );
  }

  /** Waits for a heartbeat of each kubelet after that time (milliseconds since 1970), because Ready alone may be stale. */
  async nodesHeard(since: number): Promise<void> {
    type Leases = { items: { spec: { renewTime: string } }[] };
    await this.until(
      'all kubelets sent a heartbeat',
      async () => {
        const { items } = (await this.server.client.call('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases')).body as Leases;
        return items.filter(({ spec }) => Date.parse(spec.renewTime) > since).length === this.nodes.length;
      },
      readyTimeoutMs,
    );
  }

  /** Diagnosis for a failed test. */
  async #state(): Promise<string> {
    const { stdout } = await this.server.kubectl(['get', 'nodes,pods', '-A', '-o', 'wide']);
    return [stdout, ...this.nodes.flatMap((node) => node.failures)].join('\n');
  }

  async #complete(routes: boolean): Promise<void> {
    await this.nodesReady();
    if (routes) {
      for (const path of routeDefinitions()) await this.server.apply(readFileSync(path, 'utf8'));
      await this.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=120s');
    }
    await this.server.apply(addons({ host: 'node1', routes }));
    await this.kubectl('-n', 'kube-system', 'rollout', 'status', 'deployment/coredns', 'deployment/traefik', '--timeout=120s');
  }
}

/** Images of the add-ons. @returns paths of archives */
async function ownImages(): Promise<string[]> {
  const { coredns, traefik } = kubernetesPrograms(['coredns', 'traefik']);
  const programs = [
    [pauseImage, await pauseProgram()],
    [coreDnsImage, coredns],
    [traefikImage, traefik],
  ] as const;
  return Promise.all(programs.map(([name, program]) => programImage(name, program)));
}

/** Needs root, the programs of `clusterPrograms` and the Debian packages of `npm run e2e`. */
export function startCluster(scope: Scope, options: ClusterOptions = {}): Promise<Cluster> {
  return Cluster.start(scope, options);
}

/** Creates a bridge with the control plane, to which Kubernetes nodes and this machine are connected. */
async function connectHub(hub: Machine, network: string, cable: string): Promise<void> {
  // Addresses that appear a second after a cable abort page loads of browsers in the hub (ERR_NETWORK_CHANGED); 1: no IPv6 addresses.
  await hub.run(['sysctl', '-qw', 'net.ipv6.conf.default.addr_gen_mode=1']);
  // Fixed, because a bridge otherwise uses the lowest address of its ports, which changes when a Kubernetes node is added or removed, and
  // neighbors with the previous address cannot reach it for most of a minute.
  const bridge = ['link add br0 address 02:00:00:00:00:01 type bridge', `addr add ${network}.1/24 dev br0`, 'link set br0 up'];
  await hub.ip(...bridge, `route add default via ${network}.253`);
  await hub.run(['sysctl', '-qw', 'net.ipv4.ip_forward=1']);
  await runCommand(['ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'to-here', 'netns', String(hub.pid)]);
  await hub.ip('link set to-here master br0 up');
  await runCommand(['ip', 'addr', 'add', `${network}.254/24`, 'dev', cable]);
  await runCommand(['ip', 'link', 'set', cable, 'up']);
}

/** The other end is removed with the last connection of an ended machine, which the kernel may keep for minutes. */
async function removeCable(cable: string): Promise<void> {
  await runCommand(['ip', 'link', 'del', cable], { mayFail: true });
}

/** Removes cables of killed runs. */
async function removeLeftCables(): Promise<void> {
  for (const cable of readdirSync('/sys/class/net')) {
    const pid = Number(/^mr(\d+)-\d+$/.exec(cable)?.[1]);
    if (pid > 0 && !isAlive(pid)) await removeCable(cable);
  }
}

/** A free network of 198.18.0.0/15, which is reserved for tests (RFC 2544). */
function freeNetwork(): string {
  const taken = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
  const free = Array.from({ length: 250 }, (_, at) => `198.18.${(process.pid + at) % 250}`);
  const found = free.find((network) => !taken.some((address) => address.startsWith(`${network}.`)));
  if (found === undefined) throw new Error('No free network; clusters of earlier tests may still exist');
  return found;
}
