// Config system: names, addresses, cores and files of the host. Injected, so that tests control it.
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { access, constants, mkdir, stat } from 'node:fs/promises';
import { availableParallelism, hostname, networkInterfaces } from 'node:os';
import { resolve as absolute, dirname } from 'node:path';
import { cgroupCores } from '../common/container-cpu.ts';

export type ConfigSystem = {
  hostname: () => string;
  /** Every IP address of the host. */
  localAddresses: () => string[];
  /** The source address of the default route. */
  defaultRouteAddress: () => Promise<string>;
  /** Cores that the process may use; a fraction if limited by a cgroup. */
  cores: () => Promise<number>;
  /** Addresses of a host name; fails after `deadline` milliseconds. */
  resolve: (name: string, deadline: number) => Promise<string[]>;
  gitCommit: () => Promise<string | undefined>;
  /** Creates a directory if it does not exist. Returns the error code of a failure, for example EACCES. */
  makeWritable: (folder: string) => Promise<string | undefined>;
  /** Error code if a file cannot be read, for example ENOENT. */
  unreadable: (file: string) => Promise<string | undefined>;
};

/** The host of this process. */
export function localSystem(): ConfigSystem {
  return { hostname, localAddresses, defaultRouteAddress, cores, resolve, gitCommit, makeWritable, unreadable };
}

function localAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
}

async function defaultRouteAddress(): Promise<string> {
  // Addresses for documentation (RFC 5737, RFC 3849). Connecting a UDP socket only looks up the route; nothing is sent.
  const found = (await routeAddress('udp4', '192.0.2.1')) ?? (await routeAddress('udp6', '2001:db8::1'));
  return (
    found ?? localAddresses().find((address) => address !== '127.0.0.1' && address !== '::1' && !address.startsWith('fe80')) ?? '127.0.0.1'
  );
}

function routeAddress(type: 'udp4' | 'udp6', target: string): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = createSocket(type);
    const end = (address: string | undefined) => {
      socket.close();
      done(address);
    };
    socket.once('error', () => end(undefined));
    socket.once('connect', () => end(socket.address().address));
    socket.connect(9, target);
  });
}

async function cores(): Promise<number> {
  return Math.min(availableParallelism(), (await cgroupCores()) ?? Number.POSITIVE_INFINITY);
}

async function resolve(name: string, deadline: number): Promise<string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no response within ${deadline} ms`)), deadline);
  try {
    const found = await Promise.race([lookup(name, { all: true }), late]);
    return found.map(({ address }) => address);
  } finally {
    clearTimeout(timer);
  }
}

function gitCommit(): Promise<string | undefined> {
  return new Promise((done) => {
    execFile('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: import.meta.dirname, timeout: 2000 }, (error, stdout) =>
      done(error || !/^[0-9a-f]{7,40}$/.test(stdout.trim()) ? undefined : stdout.trim()),
    );
  });
}

async function makeWritable(folder: string): Promise<string | undefined> {
  try {
    await makeFolder(absolute(folder));
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return errorCode(error);
  }
}

/** Like `mkdir` with `recursive`, which never returns if it gets ENOENT in an existing folder, as in /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = errorCode(error);
    if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    await makeFolder(parent);
    await mkdir(path);
  }
}

async function unreadable(file: string): Promise<string | undefined> {
  return access(file, constants.R_OK).then(() => undefined, errorCode);
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'an error without a code';
}
