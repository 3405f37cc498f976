// Joins of LiveKit's unmodified clients: the same client joins both servers.
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { signAccessToken } from '../../kit/access-tokens.ts';
import { benchContext } from '../bench-context.ts';
import { readCpuTime } from '../machine.ts';
import { tickMs, usedCpuOfTree } from '../processes.ts';
import { quantile } from '../statistics.ts';
import type { Sample } from './cases.ts';
import type { RunningServer, ServerNetwork } from './servers.ts';

/** Joins before those that count: server and client still compile code. */
const warmUpJoins = 3;
export const readyTimeoutMs = 60_000;

/** Milliseconds since the client was told to connect. */
export type Join = { connected: number; firstFrame: number };
/** Two clients of one kind. */
export type JoinClients = {
  /** Publishes a video of 640x360 and a tone. The server may still start. */
  publish: (token: string) => Promise<void>;
  /** Joins the room of the token, and leaves it. */
  join: (token: string) => Promise<Join>;
};
/** `room`: another one than that of the measurement. */
export type OpenClients = (
  t: TestContext,
  network: ServerNetwork,
  tokenFor: (identity: string, room?: string) => Promise<string>,
) => Promise<JoinClients>;

export async function measureJoins({ pid, key }: RunningServer, count: number, network: ServerNetwork, open: OpenClients): Promise<Sample> {
  const { t, end } = benchContext();
  const tokenFor = (identity: string, room = 'join') =>
    signAccessToken({ identity, room, video: { roomCreate: true }, keyId: key.id, key: new TextEncoder().encode(key.secret) });
  try {
    const clients = await open(t, network, tokenFor);
    await clients.publish(await tokenFor('publisher'));
    const joins: Join[] = [];
    let before = machineState(pid);
    for (let index = 0; index < warmUpJoins + count; index += 1) {
      if (index === warmUpJoins) before = machineState(pid);
      const join = await clients.join(await tokenFor(`receiver-${index}`));
      if (index >= warmUpJoins) joins.push(join);
      // Independent of the phase of the publisher's key frames, and of the rate at which servers request them.
      await sleep(1_000 + Math.random() * 1_000);
    }
    return { ...use(before, machineState(pid)), joins: joins.length, ...times(joins) };
  } finally {
    await end();
  }
}

function times(joins: readonly Join[]): Sample {
  const of = (name: keyof Join, share: number) =>
    quantile(
      joins.map((join) => join[name]),
      share,
    );
  return {
    first_frame_p50_ms: of('firstFrame', 0.5),
    first_frame_p95_ms: of('firstFrame', 0.95),
    connected_p50_ms: of('connected', 0.5),
  };
}

/** In milliseconds of CPU time: of the server, of this process with all that it started, and of the machine. */
type MachineState = { at: number; server: number; own: number; busy: number; stolen: number };

function machineState(server: number): MachineState {
  const { busy, stolen } = readCpuTime();
  const [all, lost] = [(busy - stolen) * tickMs, stolen * tickMs];
  return { at: performance.now(), server: usedCpuOfTree(server), own: usedCpuOfTree(process.pid), busy: all, stolen: lost };
}

function use(before: MachineState, after: MachineState): Sample {
  const cores = (name: Exclude<keyof MachineState, 'at'>) => (after[name] - before[name]) / (after.at - before.at);
  return { server_cpu: cores('server'), other_cpu: Math.max(0, cores('busy') - cores('own')), stolen_cpu: cores('stolen') };
}
