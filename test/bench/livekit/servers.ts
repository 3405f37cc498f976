// Servers of the comparison with LiveKit: one at a time on core 0 of a network namespace, and the load generator on core 1.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeFlags } from '../../../tools/paths.mjs';
import { claimId, ip, removeNamespace } from '../../kit/network/namespaces.ts';
import { runCommand } from '../../kit/processes/command.ts';
import { workerBin } from '../../kit/processes/worker-bin.ts';
import { endProcess } from '../processes.ts';
import type { Sample, Side } from './cases.ts';

export type Programs = {
  /** Compiled program of the node. */
  node: string;
  /** LiveKit's server. */
  server: string;
  /** The load generator of measure(). */
  load?: string;
};

/** A server that runs. `key`: signs access tokens. */
export type RunningServer = { pid: number; key: { id: string; secret: string }; secrets: Record<string, string> };
export type ServerOptions = {
  /** True if the node accepts LiveKit's clients. */
  livekitClients?: boolean;
};

/** Free in the namespace. */
const ports = { http: 7880, media: 7882, metrics: 7884 };
export const address = `127.0.0.1:${ports.http}`;

type Launch = { command: readonly string[]; env: Record<string, string>; secrets: Record<string, string>; key: RunningServer['key'] };

/** Loopback only: the ports are free, and the kernel counts dropped datagrams of these programs alone. Requires root. */
export class ServerNetwork {
  readonly name: string;
  readonly #folder: string;
  readonly #programs: Programs;

  private constructor(name: string, folder: string, programs: Programs) {
    this.name = name;
    this.#folder = folder;
    this.#programs = programs;
  }

  static async open(programs: Programs): Promise<ServerNetwork> {
    const name = `mr-${await claimId()}`;
    await ip('netns', 'add', name);
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    return new ServerNetwork(name, await mkdtemp(join(tmpdir(), 'mediarooms-bench-')), programs);
  }

  /** Output of the servers. */
  get logPath(): string {
    return join(this.#folder, 'servers.log');
  }

  /** @param keepLog keeps the output of the servers */
  async close(keepLog: boolean): Promise<void> {
    await removeNamespace(this.name);
    if (!keepLog) await rm(this.#folder, { recursive: true, force: true });
  }

  /** Starts a server, loads it, and stops it. @throws if one of the two fails */
  async measure(side: Side, load: readonly string[], timeoutMs: number): Promise<Sample> {
    return this.serve(side, async ({ pid, secrets }) => {
      const flags = ['-server', side, '-address', address, '-pid', String(pid)];
      const loading = this.#inNamespace(1, [this.#programs.load ?? '', load[0] ?? '', ...flags, ...load.slice(1)]);
      const { stdout } = await runCommand(loading, { env: { ...process.env, ...secrets }, timeoutMs });
      return JSON.parse(stdout);
    });
  }

  /** A program that runs another one in the namespace, on core 1. */
  async wrap(program: string): Promise<string> {
    const path = join(this.#folder, 'run');
    await writeFile(path, `#!/bin/sh\nexec ${this.#inNamespace(1, [program]).join(' ')} "$@"\n`);
    await chmod(path, 0o755);
    return path;
  }

  /** Starts a server, and stops it after `use`. */
  async serve<Result>(side: Side, use: (server: RunningServer) => Promise<Result>, options: ServerOptions = {}): Promise<Result> {
    const resources = await mkdtemp(join(this.#folder, 'resources-'));
    const { command, env, secrets, key } = side === 'mediarooms' ? this.#mediarooms(resources, options) : this.#livekit();
    const log = await open(this.logPath, 'a');
    const child = this.#spawn(command, env, log.fd);
    try {
      return await use({ pid: child.pid ?? 0, secrets, key });
    } finally {
      await endProcess(child);
      await log.close();
      await rm(resources, { recursive: true, force: true });
    }
  }

  #inNamespace(core: number, command: readonly string[]): string[] {
    return ['nsenter', `--net=/run/netns/${this.name}`, 'taskset', '-c', String(core), ...command];
  }

  /** nsenter(1) and taskset(1) become the program, so its process id is that of the child. */
  #spawn(command: readonly string[], env: Record<string, string>, log: number): ChildProcess {
    const [program = '', ...args] = this.#inNamespace(0, command);
    const { PATH, HOME } = process.env;
    return spawn(program, args, { env: { PATH, HOME, ...env }, stdio: ['ignore', log, log] });
  }

  /** The node as its image starts it. */
  #mediarooms(resources: string, { livekitClients = false }: ServerOptions): Launch {
    const token = secret();
    const key = { id: 'bench', secret: secret() };
    return {
      command: [process.execPath, ...nodeFlags, this.#programs.node],
      env: {
        NODE_ENV: 'production',
        MEDIASOUP_WORKER_BIN: workerBin,
        SVC_IP: '127.0.0.1',
        SVC_PORT: String(ports.http),
        SVC_METRICS_PORT: String(ports.metrics),
        SVC_STRUCTURED_LOGGING: 'true',
        SVC_SERVER_API_TOKEN: token,
        SVC_SECRET_KEY_BASE: secret(),
        SVC_RESOURCES_BASE_PATH: resources,
        SVC_WEBRTC_TURN_LISTEN_IP: '127.0.0.1',
        SVC_WEBRTC_BASE_PORT: String(ports.media),
        SVC_WEBRTC_WORKERS: '1',
        ...(livekitClients && { SVC_LIVEKIT_ENABLED: 'true', SVC_ACCESS_KEYS: `${key.id}=${key.secret}` }),
      },
      secrets: { BENCH_TOKEN: token },
      key,
    };
  }

  #livekit(): Launch {
    const key = { id: 'bench', secret: secret() };
    const rtc = {
      udp_port: ports.media,
      tcp_port: 0,
      node_ip: '127.0.0.1',
      enable_loopback_candidate: true,
      interfaces: { includes: ['lo'] },
    };
    const config = { port: ports.http, bind_addresses: ['127.0.0.1'], rtc, keys: { [key.id]: key.secret }, logging: { level: 'warn' } };
    return {
      command: [this.#programs.server],
      // JSON is YAML.
      env: { LIVEKIT_CONFIG: JSON.stringify(config) },
      secrets: { BENCH_KEY: key.id, BENCH_SECRET: key.secret },
      key,
    };
  }
}

function secret(): string {
  return randomBytes(48).toString('base64url');
}
