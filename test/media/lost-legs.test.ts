// Rooms on several media workers when one of them is killed: its peers and components continue at another one.
import assert from 'node:assert/strict';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { isRtcp, parseRtp } from '../../node/components/rtp/rtp-reader.ts';
import { rtpPacket } from '../../node/components/rtp/rtp-writer.ts';
import type { MediaWorkerPool } from '../../node/media/worker/worker-pool.ts';
import type { ComponentMediaListener, RoomMedia } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { seededRandom } from '../kit/seeded-random.ts';
import { opus, ssrc, type Udp, udp } from './component-rtp.ts';
import { engineFor, openPeer, openRoom, opusParameters, pidsOf, textOf, videoParameters } from './kit.ts';

const kill = (engine: MediaWorkerPool, worker: number) => process.kill(pidsOf(engine)[worker] ?? 0, 'SIGKILL');
const workersOf = (room: RoomMedia) => room.legs().map(({ worker }) => worker);
/** Indexes of the workers that run. */
const runningOf = (engine: MediaWorkerPool) => engine.workers().flatMap(({ state }, index) => (state === 'running' ? [index] : []));
const running = (engine: MediaWorkerPool) => runningOf(engine).length === engine.workers().length;

/** Records what a component is notified of. */
function recorded() {
  const heard: string[] = [];
  const listener: ComponentMediaListener = {
    interrupted: () => heard.push('interrupted'),
    restored: () => heard.push('restored'),
    failed: (error) => heard.push(`failed: ${error}`),
  };
  return { heard, listener };
}

/** Sends numbered packets until the test ends. */
function sendTo(t: TestContext, { socket }: Udp, to: { ip: string; port: number }): void {
  let sequence = 0;
  const pace = setInterval(() => {
    sequence += 1;
    const header = { payloadType: 108, sequence, timestamp: sequence * 960, ssrc, marker: false };
    socket.send(rtpPacket(header, Buffer.from(String(sequence))), to.port, to.ip);
  }, 10);
  t.after(() => clearInterval(pace));
}

/** Numbers of the received packets. */
const numbers = ({ received }: Udp) =>
  received.filter((packet) => !isRtcp(packet)).map((packet) => Number(parseRtp(packet)?.payload.toString()));

/** A room on two workers: each has an input, whose track is received by an output at the first one. */
async function withInputs(t: TestContext) {
  const engine = await engineFor(t, { workers: 2, maxWorkerTracks: () => 1 });
  const room = openRoom(engine);
  await openPeer(room, 'first');
  await openPeer(room, 'second');
  const inputs = [];
  for (const trackId of ['a', 'b']) {
    const { heard, listener } = recorded();
    const input = room.openInput(listener);
    const from = await udp(t);
    const to = await input.connect(from.address);
    await input.publish({ trackId, kind: 'audio', rtpParameters: opus });
    sendTo(t, from, to);
    inputs.push({ heard, input });
    // The next component gets the other leg.
    await openPeer(room, `peer-${trackId}`);
  }
  return { engine, room, inputs };
}

async function outputOf(t: TestContext, room: RoomMedia, trackId: string, listener?: ComponentMediaListener) {
  const output = room.openOutput(listener);
  const at = await udp(t);
  await output.connect(at.address);
  await output.subscribe(trackId);
  await output.resume(trackId);
  await eventually(`packets of ${trackId}`, () => numbers(at).length > 10);
  return { output, at };
}

describe('a killed media worker of a room that uses two', () => {
  test('costs the tracks of its leg: they continue at the other leg with the same ids and addresses, the others without a gap', async (t) => {
    const { engine, room, inputs } = await withInputs(t);
    const { heard, listener } = recorded();
    const [whole, cut] = [await outputOf(t, room, 'a', listener), await outputOf(t, room, 'b', listener)];
    const before = workersOf(room);
    kill(engine, 1);
    await eventually('the track continues', () => inputs.some((each) => each.heard.includes('restored')));
    assert.deepEqual(
      inputs.map((each) => each.heard.length),
      [0, 2],
      'only the input at the lost leg is interrupted',
    );
    assert.deepEqual([before, workersOf(room)], [[0, 1], [0]]);
    await cut.output.subscribe('b');
    await cut.output.resume('b');
    const received = numbers(cut.at).length;
    await eventually('more packets of the lost leg', () => numbers(cut.at).length > received + 10);
    const all = numbers(whole.at);
    assert.deepEqual(
      all,
      Array.from(all, (_, index) => (all[0] ?? 0) + index),
      'no packet of the other leg is missing',
    );
    assert.deepEqual([heard.filter((each) => each.startsWith('failed')), room.heard.crashes], [[], []]);
  });

  test('costs its peers their transports and tracks: new ones are created at the other leg, with the same track ids', async (t) => {
    const engine = await engineFor(t, { workers: 2, maxWorkerTracks: () => 1 });
    const room = openRoom(engine);
    const rtpCapabilities = await room.rtpCapabilities();
    const first = await openPeer(room, 'first');
    const lost: string[] = [];
    const media = room.openPeer('second', { layersChanged: () => {}, failed: () => {}, lost: () => lost.push('second') });
    const send = async () => textOf(await media.createTransport('send', { sctp: true }), 'id');
    const publish = async () =>
      media.publish({
        transportId: await send(),
        trackId: 'v',
        kind: 'video',
        rtpParameters: videoParameters('0', 'VP8', true),
        paused: false,
      });
    await publish();
    await first.publish('a', 'audio', opusParameters('0'));
    await first.media.subscribe('v', rtpCapabilities);
    assert.deepEqual(workersOf(room), [0, 1]);
    kill(engine, 1);
    await eventually('the peer is notified', () => lost.length === 1);
    await assert.rejects(first.media.subscribe('v', rtpCapabilities), { code: 'track_not_found' });
    assert.equal(media.hasTransport('send'), false);
    await publish();
    assert.equal((await first.media.subscribe('v', rtpCapabilities))?.kind, 'video');
    await media.createTransport('recv', { sctp: true });
    assert.equal((await media.subscribe('a', rtpCapabilities))?.kind, 'audio');
    assert.deepEqual([workersOf(room), room.heard.crashes], [[0], []]);
    room.close();
    await eventually('both workers run', () => running(engine));
    assert.equal(await engine.countRouters(), 0);
  });

  test('ends the room if it is the third one within ten minutes', async (t) => {
    const engine = await engineFor(t, { workers: 2, maxWorkerTracks: () => 1 });
    const room = openRoom(engine);
    let lost = 0;
    room.openPeer('first', { layersChanged: () => {}, failed: () => {}, lost: () => (lost += 1) });
    for (const losses of [1, 2]) {
      kill(engine, workersOf(room)[0] ?? 0);
      await eventually('the peer is at another worker', () => lost === losses);
      await eventually('both workers run', () => running(engine));
    }
    assert.deepEqual(room.heard.crashes, []);
    kill(engine, workersOf(room)[0] ?? 0);
    await eventually('the room has crashed', () => room.heard.crashes.length === 1);
    assert.deepEqual([room.heard.crashes, lost], [['media worker died'], 2]);
    await eventually('no router is left', async () => running(engine) && (await engine.countRouters()) === 0);
  });
});

test('a room whose only media worker is killed continues on the same one, if there is no other', async (t) => {
  const engine = await engineFor(t, { workers: 1, maxWorkerTracks: () => 100 });
  const room = openRoom(engine);
  let lost = 0;
  const media = room.openPeer('p', { layersChanged: () => {}, failed: () => {}, lost: () => (lost += 1) });
  await media.createTransport('send', { sctp: true });
  kill(engine, 0);
  await eventually('the room has no worker', () => room.legs().length === 0);
  assert.throws(() => room.openPeer('q', { layersChanged: () => {}, failed: () => {} }), { code: 'unavailable' });
  await assert.rejects(room.rtpCapabilities(), { code: 'unavailable' });
  await eventually('the peer is notified', () => lost === 1);
  assert.ok(await media.createTransport('send', { sctp: true }));
  assert.deepEqual([workersOf(room), room.heard.crashes], [[0], []]);
});

test('a room that waits for a media worker can be closed', async (t) => {
  const engine = await engineFor(t, { workers: 1, maxWorkerTracks: () => 100 });
  const room = openRoom(engine);
  let lost = 0;
  room.openPeer('p', { layersChanged: () => {}, failed: () => {}, lost: () => (lost += 1) });
  kill(engine, 0);
  await eventually('the room has no worker', () => room.legs().length === 0);
  room.close();
  await eventually('the worker runs', () => running(engine));
  assert.deepEqual([lost, room.heard.crashes, await engine.countRouters()], [0, [], 0]);
});

/** Sockets of the process of each worker. */
async function socketsOf(engine: MediaWorkerPool): Promise<number[]> {
  const count = async (pid: number) => {
    const folder = `/proc/${pid}/fd`;
    const targets = await Promise.all((await readdir(folder)).map((name) => readlink(join(folder, name)).catch(() => '')));
    return targets.filter((target) => target.startsWith('socket:')).length;
  };
  return Promise.all(pidsOf(engine).map(count));
}

const kills = Number(process.env.TEST_WORKER_KILLS ?? 10);
const seed = Number(process.env.TEST_SEED ?? 41);
/** Media workers that are killed more often restart later. */
const timeout = Math.max(90_000, kills * 12_000);

test(`${kills} killed media workers at random times leave no router, transport, pipe and port (seed ${seed})`, { timeout }, async (t) => {
  const random = seededRandom(seed);
  const engine = await engineFor(t, { workers: 3, maxWorkerTracks: () => 2 });
  const fresh = await socketsOf(engine);
  for (let round = 0; round < kills; round += 1) {
    // A room ends with its third loss, so each round has another one.
    const room = openRoom(engine, { roomId: `room-${round}` });
    const input = room.openInput();
    const from = await udp(t);
    await input.connect(from.address);
    await input.publish({ trackId: `i${round}`, kind: 'audio', rtpParameters: opus });
    const rtpCapabilities = await room.rtpCapabilities();
    const join = async (index: number) => {
      const peer = await openPeer(room, `p${index}`);
      await peer.publish(
        `t${round}-${index}`,
        index % 2 === 0 ? 'audio' : 'video',
        index % 2 === 0 ? opusParameters('0') : videoParameters('0'),
      );
      for (let other = 0; other < index; other += 1) await peer.media.subscribe(`t${round}-${other}`, rtpCapabilities);
      const output = room.openOutput();
      await output.connect((await udp(t)).address);
      await output.subscribe(`i${round}`);
    };
    // Requests at the time of the kill fail.
    const joining = Promise.allSettled(Array.from({ length: 6 }, (_, index) => join(index)));
    await new Promise((resolve) => setTimeout(resolve, random() * 60));
    const alive = runningOf(engine);
    const victim = alive[Math.floor(random() * alive.length)] ?? 0;
    kill(engine, victim);
    await eventually('the worker is replaced', () => engine.workers()[victim]?.state === 'restarting');
    await joining;
    room.close();
    // A worker that is killed repeatedly restarts after up to 30 s.
    await eventually('two workers run', () => runningOf(engine).length >= 2, { within: 60_000 });
  }
  await eventually('all workers run', () => running(engine), { within: 60_000 });
  await eventually('nothing is forwarded', () => engine.load().forwardedTracks === 0);
  assert.equal(await engine.countRouters(), 0);
  await eventually('only the sockets of a new worker are left', async () => (await socketsOf(engine)).join() === fresh.join());
});
