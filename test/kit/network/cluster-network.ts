// Cluster network: several machines as network namespaces on one bridge, with links that a test can cut and restore. Requires root.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { claimId, filesOf, ip, removeNamespace } from './namespaces.ts';

/** An unused MAC address: packets to it are lost silently, like on a cut cable. */
const unusedMac = '02:00:00:00:00:99';

export type NetworkHost = {
  /** Name of the namespace. */
  name: string;
  ip: string;
  /** Command prefix that runs a program on this machine. */
  wrap: readonly string[];
};

let count = 0;

/** `hosts`: addresses begin with it. `options`: an IPv6 address can be used at once without duplicate address detection. */
type Subnet = { hosts: string; here: string; bits: number; options: readonly string[] };

function subnetOf(family: 4 | 6): Subnet {
  const { pid } = process;
  if (family === 6) {
    const hosts = `fd42:${(pid >> 16).toString(16)}:${(pid & 0xffff).toString(16)}:${count.toString(16)}::`;
    return { hosts, here: `${hosts}fe`, bits: 64, options: ['nodad'] };
  }
  // Sixteen subnets per process: a process whose id differs by a hundred uses the same ones at another time.
  const third = (Math.floor(pid / 100) * 16 + count) % 250;
  const hosts = `10.${130 + (pid % 100)}.${third}.`;
  return { hosts, here: `${hosts}254`, bits: 24, options: [] };
}

export class ClusterNetwork {
  /** Address of the test machine on the bridge, in the same subnet. */
  readonly here: string;
  readonly machines: NetworkHost[] = [];
  readonly #id: string;
  readonly #subnet: Subnet;
  #made = 0;

  private constructor(id: string, subnet: Subnet) {
    this.#id = id;
    this.#subnet = subnet;
    this.here = subnet.here;
  }

  /** Addresses are `10.x.y.1` and so on, or of IPv6 only `fd42:x:y:z::1`; removed with the test. */
  static async make(t: TestContext, machines: number, family: 4 | 6 = 4): Promise<ClusterNetwork> {
    count += 1;
    const subnet = subnetOf(family);
    const network = new ClusterNetwork(await claimId(), subnet);
    t.after(() => network.#remove());
    await ip('link', 'add', network.#bridge, 'type', 'bridge');
    await ip('addr', 'add', `${network.here}/${subnet.bits}`, 'dev', network.#bridge, ...subnet.options);
    await ip('link', 'set', network.#bridge, 'up');
    for (let index = 1; index <= machines; index += 1) network.machines.push(await network.#add(`${subnet.hosts}${index}`));
    return network;
  }

  /** Drops all packets between the two machines silently. */
  async cut(one: NetworkHost, other: NetworkHost): Promise<void> {
    await this.drop(one, other);
    await this.drop(other, one);
  }

  async restore(one: NetworkHost, other: NetworkHost): Promise<void> {
    await this.pass(one, other);
    await this.pass(other, one);
  }

  /** Drops packets in one direction only. */
  async drop(from: NetworkHost, to: NetworkHost): Promise<void> {
    await ip('-n', from.name, 'neigh', 'replace', to.ip, 'lladdr', unusedMac, 'dev', 'eth0', 'nud', 'permanent');
  }

  async pass(from: NetworkHost, to: NetworkHost): Promise<void> {
    await ip('-n', from.name, 'neigh', 'del', to.ip, 'dev', 'eth0');
  }

  /**
   * A new machine with the address of an old one, which disappears silently: the other machines keep their connections to it.
   * @param end stops the programs of the old machine, after its packets no longer arrive
   */
  async replace(old: NetworkHost, end: () => Promise<unknown>): Promise<NetworkHost> {
    await ip('-n', old.name, 'link', 'set', 'eth0', 'down');
    await end();
    await removeNamespace(old.name);
    await ip('neigh', 'flush', 'to', old.ip, 'dev', this.#bridge);
    const networkHost = await this.#add(old.ip);
    this.machines[this.machines.indexOf(old)] = networkHost;
    return networkHost;
  }

  /** A file that replaces the one of that name in /etc on every machine, for example `resolv.conf` or `hosts`. */
  async setFile(file: string, text: string): Promise<void> {
    for (const { name } of this.machines) {
      await mkdir(filesOf(name), { recursive: true });
      await writeFile(join(filesOf(name), file), text);
    }
  }

  get #bridge(): string {
    return `mrb${this.#id}`;
  }

  async #add(address: string): Promise<NetworkHost> {
    this.#made += 1;
    const name = `mr-${this.#id}-${this.#made}`;
    const cable = `mrc${this.#id}-${this.#made}`;
    await ip('netns', 'add', name);
    await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    await ip('link', 'set', cable, 'master', this.#bridge, 'up');
    for (const args of [
      ['addr', 'add', `${address}/${this.#subnet.bits}`, 'dev', 'eth0', ...this.#subnet.options],
      ['link', 'set', 'lo', 'up'],
      ['link', 'set', 'eth0', 'up'],
      ['route', 'add', 'default', 'via', this.here],
    ]) {
      await ip('-n', name, ...args);
    }
    return { name, ip: address, wrap: ['ip', 'netns', 'exec', name] };
  }

  async #remove(): Promise<void> {
    for (const { name } of this.machines) await removeNamespace(name);
    await ip('link', 'del', this.#bridge).catch(() => {});
  }
}
