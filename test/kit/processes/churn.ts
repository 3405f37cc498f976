// Churn load: rooms in which tracks start and end every second while everything is composed and recorded, with samples of held resources.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { residentBytes } from '../../../node/common/resident-memory.ts';
import { type ApiClient, apiClient } from '../answers/api-client.ts';
import { seededRandom } from '../seeded-random.ts';
import { childrenOf, type NodeProcess } from './node-process.ts';
import { apiToken } from './start-node.ts';

/** Maximum number of tracks of a room. */
const maxTracks = 4;
const period = 1000;
const sampleIntervalMs = 10;

/** Bytes of memory and open descriptors by type of process; number of unreaped child processes. */
export type ProcessSample = { memory: Record<string, number>; descriptors: Record<string, number>; zombies: number };

export type ChurnOptions = {
  node: NodeProcess;
  rooms: readonly string[];
  /** Files below file_component_sources. */
  files: readonly string[];
  seconds: number;
  seed: number;
};

/** One join or leave per second in each room. @returns samples of held resources, every ten seconds */
export async function churn(t: TestContext, { node, rooms, files, seconds, seed }: ChurnOptions): Promise<ProcessSample[]> {
  const api = apiClient(node.url, apiToken);
  const random = seededRandom(seed);
  const present = new Map<string, string[]>(rooms.map((room) => [room, []]));
  const samples: ProcessSample[] = [];
  const started = performance.now();
  for (let second = 0; second < seconds; second += 1) {
    for (const [room, tracks] of present) await step(api, room, tracks, files, random);
    if (second % sampleIntervalMs === 0) {
      samples.push(await sampleProcesses(node.pid));
      t.diagnostic(`${second} s: ${describe(samples.at(-1))}`);
    }
    await new Promise((resolve) => setTimeout(resolve, started + (second + 1) * period - performance.now()));
  }
  for (const [room, tracks] of present) for (const id of tracks) await leave(api, room, id);
  return samples;
}

async function step(api: ApiClient, room: string, tracks: string[], files: readonly string[], random: () => number): Promise<void> {
  const joins = tracks.length === 0 || (tracks.length < maxTracks && random() < 0.5);
  if (joins) {
    const filePath = files[Math.floor(random() * files.length)];
    const { status, body } = await api.post(`/room/${room}/component`, { type: 'file', options: { filePath } });
    assert.equal(status, 201, JSON.stringify(body));
    tracks.push(body.data.id);
  } else {
    const [id = ''] = tracks.splice(Math.floor(random() * tracks.length), 1);
    await leave(api, room, id);
  }
}

/** A file component removes itself at the end of its file. */
async function leave(api: ApiClient, room: string, id: string): Promise<void> {
  const { status } = await api.delete(`/room/${room}/component/${id}`);
  assert.ok(status === 204 || status === 404, `removing the component returned ${status}`);
}

/** Resources that a node and its children hold now. */
export async function sampleProcesses(pid: number): Promise<ProcessSample> {
  const processSample: ProcessSample = { memory: {}, descriptors: {}, zombies: 0 };
  const counts: Record<string, number> = {};
  for (const each of [pid, ...(await childrenOf(pid))]) {
    try {
      const status = readFileSync(`/proc/${each}/status`, 'utf8');
      if (/^State:\s+Z/m.test(status)) {
        processSample.zombies += 1;
        continue;
      }
      const command = readFileSync(`/proc/${each}/cmdline`, 'utf8');
      // An ending process has already released its memory and its command line.
      const known = command === '' ? 'ending' : (/(composer|recorder)-main|mediasoup-worker/.exec(command)?.[0] ?? 'other');
      const kind = each === pid ? 'node' : known;
      counts[kind] = (counts[kind] ?? 0) + 1;
      const name = `${kind} ${counts[kind]}`;
      processSample.memory[name] = residentBytes(each) ?? 0;
      processSample.descriptors[name] = readdirSync(`/proc/${each}/fd`).length;
    } catch {
      // The process exited during the check.
    }
  }
  return processSample;
}

function describe(processSample: ProcessSample | undefined): string {
  const entries = Object.entries(processSample?.memory ?? {});
  return entries.map(([name, bytes]) => `${name} ${Math.round(bytes / 2 ** 20)} MiB, ${processSample?.descriptors[name]} fd`).join('; ');
}
