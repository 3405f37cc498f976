// One Kubernetes node of the cluster: a machine with containerd, kubelet and kube-proxy. It can lose its power and restart with its disk.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../eventually.ts';
import { runCommand } from '../../processes/command.ts';
import { kubernetesPrograms } from '../binaries.ts';
import { Child } from '../child.ts';
import { cgroupName, computedIn, makeCgroup, podUsage, removeCgroup, type Usage } from './cgroups.ts';
import { placeImages } from './host-images.ts';
import { Machine } from './machine.ts';
import { containerdConfig, kubeletConfig, type NodePlace, podNetwork, podNetworkConfig, proxyFlags, registryMirror } from './node-files.ts';

export type ClusterNodeOptions = {
  /** From 1. */
  index: number;
  /** Number of Kubernetes nodes: each has routes to the pods of the others. */
  count: number;
  /** Common prefix of all addresses, for example `198.18.4`. */
  network: string;
  /** Folder of all its files; it exists. */
  dir: string;
  hub: Machine;
  /** Paths of kubeconfigs. */
  kubeconfigs: { kubelet: string; proxy: string };
  leaseMs: number;
  /** As returned by `hostImages`. */
  images: string;
};

const startTimeoutMs = 120_000;
const importTimeoutMs = 180_000;

export class ClusterNode {
  readonly name: string;
  /** Address for clients. */
  readonly address: string;
  readonly #options: ClusterNodeOptions;
  readonly #place: NodePlace;
  #machine: Machine | undefined;
  #children: Record<string, Child> = {};
  #computed = 0;

  private constructor(options: ClusterNodeOptions) {
    const { index, dir } = options;
    this.name = `node${index}`;
    this.address = addressOf(options, index);
    this.#options = options;
    this.#place = { index, dir, cgroup: cgroupName(this.name) };
  }

  static async start(options: ClusterNodeOptions): Promise<ClusterNode> {
    const node = new ClusterNode(options);
    node.#writeFiles();
    try {
      await placeImages(options.images, join(options.dir, 'containerd'));
      await node.boot();
    } catch (error) {
      await node.losePower();
      throw error;
    }
    return node;
  }

  /** Log files of its programs, by name. */
  get logs(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.#children).map(([name, { log }]) => [name, log]));
  }

  /** Last output of programs that ended unexpectedly. */
  get failures(): string[] {
    const ended = Object.entries(this.#children).filter(([, child]) => child.end !== undefined);
    return ended.map(([name, child]) => `${name} on ${this.name}: ${child.tail(1_000)}`);
  }

  get machine(): Machine {
    if (!this.#machine?.lives) throw new Error(`${this.name} is off`);
    return this.#machine;
  }

  /** Switches it on. It registers itself within seconds. */
  async boot(): Promise<void> {
    const { dir } = this.#options;
    makeCgroup(this.#place.cgroup);
    const folders = { '/var/log': join(dir, 'log'), '/var/lib': join(dir, 'lib') };
    this.#machine = await Machine.start({ name: this.name, folders });
    await this.#connect(this.#machine);
    const programs = kubernetesPrograms(['kubelet', 'kube-proxy']);
    const { kubelet, proxy } = this.#options.kubeconfigs;
    this.#run('containerd', ['containerd', `--config=${join(dir, 'containerd.toml')}`]);
    await this.#containerdAnswers();
    await this.#startKubelet([
      programs.kubelet,
      `--config=${join(dir, 'kubelet.json')}`,
      `--kubeconfig=${kubelet}`,
      `--root-dir=${join(dir, 'kubelet')}`,
      `--cert-dir=${join(dir, 'certificates')}`,
      `--hostname-override=${this.name}`,
      `--node-ip=${this.address}`,
    ]);
    this.#run('kube-proxy', [programs['kube-proxy'], `--kubeconfig=${proxy}`, `--hostname-override=${this.name}`, ...proxyFlags]);
  }

  /** Simulates a power failure: kubelet, containers and cable end at once and silently. The disk is kept. Idempotent. */
  async losePower(): Promise<void> {
    // First, because otherwise the kernel would close the connections of killed processes and notify their peers.
    if (this.#options.hub.lives) await this.#options.hub.run(['ip', 'link', 'del', this.#cable], { mayFail: true });
    await this.#machine?.kill();
    await Promise.all(Object.values(this.#children).map((child) => child.stop()));
    this.#computed += computedIn(this.#place.cgroup);
    await removeCgroup(this.#place.cgroup);
  }

  /** Unplugs or plugs its network cable; its processes keep running. */
  async setLink(up: boolean): Promise<void> {
    await this.#options.hub.ip(`link set ${this.#cable} ${up ? 'up' : 'down'}`);
  }

  /** Later pulls of images of a registry use another one at this URL. */
  mirrorRegistry(host: string, url: string): void {
    const folder = join(this.#options.dir, 'registries', host);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'hosts.toml'), registryMirror(url));
  }

  /** Adds an image to those that it started with. `archive`: path of an OCI archive. */
  async importImage(archive: string): Promise<void> {
    await this.machine.run(['ctr', '-n', 'k8s.io', 'images', 'import', archive], { timeoutMs: importTimeoutMs });
  }

  /** Runs `ctr` in the namespace of Kubernetes. */
  async ctr(args: readonly string[]): Promise<string> {
    return (await this.machine.run(['ctr', '-n', 'k8s.io', ...args])).stdout;
  }

  /** Usage of a pod on it. */
  podUsage(uid: string): Usage {
    return podUsage(this.#place.cgroup, uid);
  }

  /** CPU time of its pods until its last power failure, in milliseconds: they are not children of this process. */
  get computed(): number {
    return this.#computed;
  }

  get #cable(): string {
    return `to-${this.name}`;
  }

  #writeFiles(): void {
    const { dir, leaseMs } = this.#options;
    for (const folder of ['cni', 'log', 'lib']) mkdirSync(join(dir, folder), { recursive: true });
    writeFileSync(join(dir, 'containerd.toml'), containerdConfig(this.#place));
    writeFileSync(join(dir, 'cni', '10-pods.conflist'), podNetworkConfig(this.#place));
    writeFileSync(join(dir, 'kubelet.json'), kubeletConfig(this.#place, leaseMs));
  }

  async #connect(machine: Machine): Promise<void> {
    const { index, count, network, hub } = this.#options;
    const ends = [this.#cable, 'netns', String(hub.pid), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(machine.pid)];
    await runCommand(['ip', 'link', 'add', ...ends]);
    await hub.ip(`link set ${this.#cable} master br0 up`, `route replace ${podNetwork(index)} via ${this.address}`);
    const others = Array.from({ length: count }, (_, at) => at + 1).filter((other) => other !== index);
    await machine.ip(
      `addr add ${this.address}/24 dev eth0`,
      'link set eth0 up',
      `route add default via ${network}.1`,
      ...others.map((other) => `route add ${podNetwork(other)} via ${addressOf(this.#options, other)}`),
    );
    await machine.run(['sysctl', '-qw', 'net.ipv4.ip_forward=1']);
  }

  async #containerdAnswers(): Promise<void> {
    const command = ['ctr', '--timeout', '2s', 'version'];
    let said = '';
    const answers = async () => {
      const { code, stderr } = await this.machine.run(command, { mayFail: true });
      said = stderr;
      return code === 0;
    };
    await eventually(() => `containerd of ${this.name} responds: ${said}`, answers, { within: startTimeoutMs });
  }

  /** A kubelet exits if it asks containerd before its CRI service is initialized; it is started again, as by an init system. */
  async #startKubelet(command: readonly string[]): Promise<void> {
    const log = join(this.#options.dir, 'kubelet.log');
    const output = () => (existsSync(log) ? readFileSync(log) : Buffer.alloc(0));
    const { length: before } = output();
    const started = () => {
      if (!this.#children.kubelet || this.#children.kubelet.end) this.#run('kubelet', command);
      return output().includes('Started kubelet', before);
    };
    await eventually(() => `the kubelet of ${this.name} starts:\n${this.#children.kubelet?.tail()}`, started, { within: startTimeoutMs });
  }

  #run(name: string, command: readonly string[]): void {
    this.#children[name] = new Child(command, { log: join(this.#options.dir, `${name}.log`), wrap: this.machine.wrap });
  }
}

function addressOf({ network }: ClusterNodeOptions, index: number): string {
  return `${network}.${10 + index}`;
}
