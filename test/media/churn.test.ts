// Fast churn in rooms with a stream and a recording: no growth, nothing orphaned, and a stream without gaps. `npm run soak` runs it for longer.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { residentBytes } from '../../node/common/resident-memory.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { makeTone, makeVideo } from '../kit/media/media-files.ts';
import { assertNear } from '../kit/media/recorded-file.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { childrenOf, type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { seededRandom } from '../kit/seeded-random.ts';

const minutes = Number(process.env.SOAK_MINUTES ?? 2);
const rooms = ['one', 'two'];
const MiB = 2 ** 20;
/** Tolerated growth from the second third of the time to the last, because allocators keep their peak memory. */
const tolerated = Math.min(8 * minutes, 24) * MiB;
/** Maximum number of tracks of a room. */
const maxTracks = 4;
const period = 1000;
const sampleIntervalMs = 10;

/** Bytes of memory and open descriptors by type of process; number of unreaped child processes. */
type ProcessSample = { memory: Record<string, number>; descriptors: Record<string, number>; zombies: number };

async function startWithFiles(t: TestContext): Promise<{ node: NodeProcess; files: string[] }> {
  const resources = await makeResources(t);
  const sources = join(resources, 'file_component_sources');
  const colours = { 'red.h264': '0xC81E1E', 'green.h264': '0x1EC81E', 'blue.h264': '0x1E1EC8' };
  await Promise.all(Object.entries(colours).map(([file, colour]) => makeVideo(join(sources, file), colour, 12)));
  await Promise.all([makeTone(join(sources, 'low.ogg'), 440, 12), makeTone(join(sources, 'high.ogg'), 880, 12)]);
  const env = { SVC_COMPONENTS_USED: 'file hls recording', SVC_RESOURCES_BASE_PATH: resources, SVC_AV_MAX_CPU: '2' };
  return { node: await startNodeProcess(t, env), files: [...Object.keys(colours), 'low.ogg', 'high.ogg'] };
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

function assertFlat(samples: readonly ProcessSample[]): void {
  const third = Math.floor(samples.length / 3);
  for (const name of Object.keys(samples.at(-1)?.memory ?? {})) {
    const of = (from: number, to: number) => samples.slice(from, to).map(({ memory }) => memory[name] ?? 0);
    const growth = median(of(2 * third, samples.length)) - median(of(third, 2 * third));
    assert.ok(growth < tolerated, `the memory of ${name} grew by ${Math.round(growth / MiB)} MiB`);
  }
}

/** Asserts that segments are continuous. @returns their total duration in seconds */
function assertContinuous(playlist: string): number {
  assert.doesNotMatch(playlist, /^#EXT-X-DISCONTINUITY$/m);
  const segments = [...playlist.matchAll(/#EXT-X-PROGRAM-DATE-TIME:(\S+)\n(?:#EXT-X-PART:.*\n)*#EXTINF:([\d.]+)/g)];
  for (const [index, [, time = '', duration]] of segments.entries()) {
    const next = segments[index + 1]?.[1];
    if (next !== undefined) assertNear(Date.parse(next) - Date.parse(time), Number(duration) * 1000, 50, `segment ${index} to the next`);
  }
  return segments.reduce((sum, [, , duration]) => sum + Number(duration), 0);
}

test(`${minutes} minutes with a track change per second in two rooms: memory is constant, ended parts leave nothing, and the stream has no gap`, {
  timeout: (minutes + 3) * 60_000,
}, async (t) => {
  const { node, files } = await startWithFiles(t);
  const { api } = node;
  const before = await sampleProcesses(node.pid);
  const begun = new Map<string, number>();
  for (const roomId of rooms) {
    assert.equal((await api.post('/room', { roomId })).status, 201);
    const options = { width: 320, height: 180, framerate: 12, persistent: true };
    assert.equal((await postWhenIdle(api, `/room/${roomId}/component`, { type: 'hls', options })).status, 201);
    begun.set(roomId, performance.now());
    assert.equal((await api.post(`/room/${roomId}/component`, { type: 'recording' })).status, 201);
  }
  const idle = await sampleProcesses(node.pid);
  const samples = await churn(t, node, files);

  assertFlat(samples);
  for (const { zombies } of samples) assert.equal(zombies, 0);
  await eventually('all clients are gone', async () => {
    const { descriptors } = await sampleProcesses(node.pid);
    // Connections of this test may be kept alive.
    return Object.entries(descriptors).every(([name, count]) => count <= (idle.descriptors[name] ?? 0) + 4);
  });
  for (const [room, started] of begun) {
    const { body } = await api.get(`/hls/${room}/stream.m3u8`);
    const seconds = assertContinuous(String(body));
    // Viewers are about 1.5 s late; this allows five times that.
    assertNear(seconds, (performance.now() - started) / 1000, 7.5, 'seconds of the stream');
    assert.equal((await api.delete(`/room/${room}`)).status, 204);
  }
  await eventually('the component processes have ended', async () => {
    const { memory, zombies } = await sampleProcesses(node.pid);
    return zombies === 0 && !Object.keys(memory).some((name) => /compose|record|ending/.test(name));
  });
  assert.deepEqual(Object.keys((await sampleProcesses(node.pid)).memory).sort(), Object.keys(before.memory).sort());
});

/** One join or leave per second in each room. @returns samples of held resources, every ten seconds */
async function churn(t: TestContext, node: NodeProcess, files: readonly string[]): Promise<ProcessSample[]> {
  const { api } = node;
  const random = seededRandom(4711);
  const present = new Map<string, string[]>(rooms.map((room) => [room, []]));
  const samples: ProcessSample[] = [];
  const started = performance.now();
  for (let second = 0; second < minutes * 60; second += 1) {
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
async function sampleProcesses(pid: number): Promise<ProcessSample> {
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
      const [file = '', role = ''] = command.split('\0').filter(Boolean).slice(-2);
      const component = file.endsWith('/process/main.ts') ? role : (/mediasoup-worker/.exec(command)?.[0] ?? 'other');
      const known = command === '' ? 'ending' : component;
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
