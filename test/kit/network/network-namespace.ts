// Network namespace as a second machine: one virtual link to this one, which a test can take down. Requires root.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runCommand } from '../processes/command.ts';
import { claimId, ip, removeNamespace } from './namespaces.ts';

const hereName = 'here.localhost';

export type NetworkNamespace = {
  name: string;
  /** Address of this machine on the link. */
  here: string;
  /** Address of the namespace. */
  there: string;
  /** A name of `here`; its pages may use cameras without HTTPS, like those of localhost. Resolved only with the flag, by Chromium. */
  hereName: string;
  nameFlag: string;
  /** A program that runs another one in the namespace, usable as a browser executable. */
  wrap: (program: string) => Promise<string>;
  /** Takes the link down or up. */
  setLink: (up: boolean) => Promise<void>;
  /** Bounds what the namespace sends, in bit/s, with a queue of a fifth of a second (tc-tbf(8)). */
  limitUplink: (bitrate: number) => Promise<void>;
};

let count = 0;

/** Created now, removed with the test. */
export async function makeNamespace(t: TestContext): Promise<NetworkNamespace> {
  count += 1;
  const id = await claimId();
  const name = `mr-${id}`;
  // A separate subnet per process: two links with one subnet would receive each other's packets.
  const subnet = `10.${64 + (process.pid % 60)}.${(Math.floor(process.pid / 60) % 16) * 16 + count}`;
  const [here, there] = [`${subnet}.1`, `${subnet}.2`];
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-netns-'));
  t.after(async () => {
    await removeNamespace(name);
    await rm(folder, { recursive: true, force: true });
  });
  await ip('netns', 'add', name);
  await ip('link', 'add', `mrh${id}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  // An IPv6 address would appear a second later. Chromium treats that as a network change and aborts its loads.
  await ip('link', 'set', `mrh${id}`, 'addrgenmode', 'none');
  await ip('-n', name, 'link', 'set', 'eth0', 'addrgenmode', 'none');
  await ip('addr', 'add', `${here}/24`, 'dev', `mrh${id}`);
  await ip('link', 'set', `mrh${id}`, 'up');
  for (const args of [
    ['addr', 'add', `${there}/24`, 'dev', 'eth0'],
    ['link', 'set', 'lo', 'up'],
    ['link', 'set', 'eth0', 'up'],
    ['route', 'add', 'default', 'via', here],
  ]) {
    await ip('-n', name, ...args);
  }
  return {
    name,
    here,
    there,
    hereName,
    nameFlag: `--host-resolver-rules=MAP ${hereName} ${here}`,
    wrap: async (program) => {
      const path = join(folder, 'run');
      await writeFile(path, `#!/bin/sh\nexec ip netns exec ${name} ${program} "$@"\n`);
      await chmod(path, 0o755);
      return path;
    },
    setLink: async (up) => void (await ip('link', 'set', `mrh${id}`, up ? 'up' : 'down')),
    limitUplink: async (bitrate) => {
      const bucket = ['tbf', 'rate', `${Math.round(bitrate)}bit`, 'burst', '4kb', 'latency', '200ms'];
      await runCommand(['tc', '-n', name, 'qdisc', 'replace', 'dev', 'eth0', 'root', ...bucket]);
    },
  };
}

/** True if this process may create namespaces. */
export const mayMakeNamespaces = process.getuid?.() === 0;
