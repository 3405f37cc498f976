// Workers and their ports, with the real worker.

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { pino } from 'pino';
import { ServiceError } from '../../api/errors.ts';
import { findFreePortRange, isPortFree } from '../../node/media/worker/free-ports.ts';
import { startMediaWorkerPool } from '../../node/media/worker/worker-pool.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { sendBytes } from '../kit/network/stun.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { dtlsParameters, engineFor, engineOptions, openPeer, openRoom, opusParameters, pidsOf } from './kit.ts';

const unavailable = (error: unknown) => error instanceof ServiceError && error.code === 'unavailable';

test('worker i listens at base + i for UDP and TCP', async (t) => {
  const base = await freePort();
  const mediaWorkerPool = await engineFor(t, { basePort: base, workers: 2 });
  assert.deepEqual(
    mediaWorkerPool.workers().map(({ port, state, rooms }) => ({ port, state, rooms })),
    [
      { port: base, state: 'running', rooms: 0 },
      { port: base + 1, state: 'running', rooms: 0 },
    ],
  );
  assert.equal(await isPortFree('127.0.0.1', base), false);
  assert.equal(await isPortFree('127.0.0.1', base + 1), false);
  const ports = new Set<unknown>();
  for (const roomId of ['a', 'b']) {
    const peer = openRoom(mediaWorkerPool, { roomId }).openPeer('p', { layersChanged: () => {}, failed: () => {} });
    const { iceCandidates } = (await peer.createTransport('send', { sctp: false })) as {
      iceCandidates: { port: number; protocol: string }[];
    };
    assert.deepEqual(
      iceCandidates.map(({ protocol }) => protocol),
      ['udp', 'tcp'],
    );
    for (const { port } of iceCandidates) ports.add(port);
  }
  assert.deepEqual([...ports].sort(), [base, base + 1]);
});

test('a used base port fails the start with one message, and leaves no process or port', async (t) => {
  const base = await freePort();
  const tcp = createServer().listen(base + 1, '127.0.0.1');
  t.after(() => tcp.close());
  await once(tcp, 'listening');
  await assert.rejects(startMediaWorkerPool(engineOptions({ basePort: base, workers: 2 })), {
    message: `Port ${base + 1} (UDP and TCP) at 127.0.0.1 is in use, but 2 media workers need ports ${base} to ${base + 1}.`,
  });
  assert.equal(await isPortFree('127.0.0.1', base), true);
  await assert.rejects(startMediaWorkerPool(engineOptions({ basePort: 65_535, workers: 2 })), /last port is 65535\.$/);
});

test('a foreign address, or a worker that cannot run, fails the start with one message', async () => {
  await assert.rejects(
    startMediaWorkerPool(engineOptions({ listenIp: '192.0.2.1' })),
    /^Error: Media cannot listen at 192\.0\.2\.1: .*\.$/,
  );
  await assert.rejects(
    startMediaWorkerPool(engineOptions({ listenIp: '192.0.2.1', basePort: 52_150 })),
    /^Error: Media cannot listen at port 52150: .*\.$/,
  );
  await assert.rejects(
    startMediaWorkerPool(engineOptions({ workerBin: '/nonexistent/worker' })),
    /^Error: The media worker could not be started: .*\.$/,
  );
});

test('without a base, two pools that start at once both find free blocks', async (t) => {
  const [one, other] = await Promise.all([engineFor(t, { workers: 2 }), engineFor(t, { workers: 2 })]);
  const ports = [...one.workers(), ...other.workers()].map(({ port }) => port ?? 0);
  assert.equal(new Set(ports).size, 4);
  assert.ok(ports.every((port) => port >= 50_000));
  for (const mediaWorkerPool of [one, other]) {
    const [first, second] = mediaWorkerPool.workers().map(({ port }) => port ?? 0);
    assert.equal(second, (first ?? 0) + 1);
  }
});

test('a free block has free UDP and TCP ports', async (t) => {
  const base = await freePort();
  const udp = createSocket('udp4');
  udp.bind(base + 1, '127.0.0.1');
  await once(udp, 'listening');
  t.after(() => udp.close());
  assert.equal(await findFreePortRange('127.0.0.1', 2, base), base + 2);
});

test('clients get the currently announced addresses as candidates, the first one preferred', async (t) => {
  let announced = ['203.0.113.7', '2001:db8::7'];
  const mediaWorkerPool = await engineFor(t, { listenIp: '0.0.0.0', announced: () => announced });
  const port = mediaWorkerPool.workers()[0]?.port;
  const peer = openRoom(mediaWorkerPool).openPeer('p', { layersChanged: () => {}, failed: () => {} });
  type Candidate = {
    ip: string;
    address: string;
    port: number;
    protocol: string;
    priority: number;
    foundation: string;
    type: string;
    tcpType?: string;
  };
  const candidates = async () => ((await peer.createTransport('recv', { sctp: false })) as { iceCandidates: Candidate[] }).iceCandidates;
  const first = await candidates();
  assert.deepEqual(
    first.map(({ ip, address, protocol, tcpType }) => [ip, address, protocol, tcpType]),
    [
      ['203.0.113.7', '203.0.113.7', 'udp', undefined],
      ['203.0.113.7', '203.0.113.7', 'tcp', 'passive'],
      ['2001:db8::7', '2001:db8::7', 'udp', undefined],
      ['2001:db8::7', '2001:db8::7', 'tcp', 'passive'],
    ],
  );
  assert.ok(first.every((candidate) => candidate.port === port && candidate.type === 'host'));
  assert.equal(new Set(first.map(({ priority }) => priority)).size, 4);
  assert.equal(new Set(first.map(({ foundation }) => foundation)).size, 4);
  assert.equal(Math.max(...first.map(({ priority }) => priority)), first[0]?.priority);
  announced = ['198.51.100.1'];
  assert.deepEqual(
    (await candidates()).map(({ ip }) => ip),
    ['198.51.100.1', '198.51.100.1'],
  );
  announced = [];
  await assert.rejects(candidates(), (error) => unavailable(error) && /not known yet/.test(String(error)));
});

test('media can listen at an IPv6 address', async (t) => {
  const mediaWorkerPool = await engineFor(t, { listenIp: '::1' });
  const peer = openRoom(mediaWorkerPool).openPeer('p', { layersChanged: () => {}, failed: () => {} });
  const { iceCandidates } = (await peer.createTransport('send', { sctp: false })) as { iceCandidates: { ip: string }[] };
  assert.deepEqual(
    iceCandidates.map(({ ip }) => ip),
    ['::1', '::1'],
  );
});

test('media that listens at :: is reached over IPv4 and IPv6', async (t) => {
  const mediaWorkerPool = await engineFor(t, { listenIp: '::', announced: () => ['127.0.0.1', '::1'] });
  const peer = openRoom(mediaWorkerPool).openPeer('p', { layersChanged: () => {}, failed: () => {} });
  const transport = (await peer.createTransport('send', { sctp: false })) as { iceCandidates: { ip: string }[] };
  for (const address of ['127.0.0.1', '::1']) {
    const iceCandidates = transport.iceCandidates.filter(({ ip }) => ip === address);
    assert.ok((await sendBytes({ ...transport, iceCandidates }, 100)) > 0, address);
  }
});

test('rooms are placed on the worker with the fewest forwarded tracks, then on the one with the fewest rooms', async (t) => {
  const mediaWorkerPool = await engineFor(t, { workers: 2 });
  const first = openRoom(mediaWorkerPool);
  const rooms = () => mediaWorkerPool.workers().map((worker) => worker.rooms);
  assert.deepEqual(rooms(), [1, 0]);
  openRoom(mediaWorkerPool);
  assert.deepEqual(rooms(), [1, 1]);
  const [publisher, receiver] = [await openPeer(first, 'p'), await openPeer(first, 'r')];
  await publisher.media.publish({
    transportId: publisher.send,
    trackId: 't',
    kind: 'audio',
    rtpParameters: opusParameters('0'),
    paused: false,
  });
  await receiver.media.subscribe('t', await first.rtpCapabilities());
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 1 });
  openRoom(mediaWorkerPool);
  openRoom(mediaWorkerPool);
  assert.deepEqual(rooms(), [1, 3]);
  receiver.media.close();
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 0 });
  openRoom(mediaWorkerPool);
  assert.deepEqual(rooms(), [2, 3]);
});

test('a killed worker crashes only its rooms, restarts on its port, and accepts rooms again', async (t) => {
  const mediaWorkerPool = await engineFor(t, { basePort: await freePort(), workers: 2 });
  const [doomed, healthy] = [openRoom(mediaWorkerPool), openRoom(mediaWorkerPool)];
  const [victim, survivor] = mediaWorkerPool.workers();
  const peer = await openPeer(doomed, 'p');
  const other = await openPeer(healthy, 'p');
  await peer.media.publish({ transportId: peer.send, trackId: 't', kind: 'audio', rtpParameters: opusParameters('0'), paused: false });
  process.kill(victim?.pid ?? 0, 'SIGKILL');
  const pending = peer.media.publish({
    transportId: peer.send,
    trackId: 'u',
    kind: 'audio',
    rtpParameters: opusParameters('1'),
    paused: false,
  });
  await assert.rejects(pending, unavailable);
  await eventually('crash', () => doomed.heard.crashes.length > 0);
  assert.equal(mediaWorkerPool.workers()[0]?.state, 'restarting');
  // Meanwhile the other worker accepts rooms.
  assert.doesNotThrow(() => openRoom(mediaWorkerPool).close());
  await eventually('restart', () => mediaWorkerPool.workers()[0]?.state === 'running');
  const [back, same] = mediaWorkerPool.workers();
  assert.equal(back?.port, victim?.port);
  assert.notEqual(back?.pid, victim?.pid);
  assert.deepEqual(same, survivor);
  assert.deepEqual(doomed.heard.crashes, ['media worker died']);
  assert.deepEqual(healthy.heard.crashes, []);
  assert.ok(await other.media.restartIce(other.send));
  await assert.rejects(peer.media.createTransport('send', { sctp: false }), unavailable);
  await assert.rejects(doomed.rtpCapabilities(), unavailable);
  assert.throws(() => doomed.openPeer('q', { layersChanged: () => {}, failed: () => {} }), unavailable);
  doomed.close();
  const fresh = openRoom(mediaWorkerPool);
  assert.equal(mediaWorkerPool.workers()[0]?.rooms, 1);
  await openPeer(fresh, 'p');
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 0 });
});

test('while the only worker is dead, rooms are rejected; a worker that dies during its restart is restarted again', async (t) => {
  const mediaWorkerPool = await engineFor(t, { basePort: await freePort() });
  const port = mediaWorkerPool.workers()[0]?.port;
  for (let round = 0; round < 2; round += 1) {
    process.kill(mediaWorkerPool.workers()[0]?.pid ?? 0, 'SIGKILL');
    await eventually('death', () => mediaWorkerPool.workers()[0]?.state === 'restarting');
    assert.throws(() => openRoom(mediaWorkerPool), unavailable);
    await eventually('restart', () => mediaWorkerPool.workers()[0]?.state === 'running');
    assert.equal(mediaWorkerPool.workers()[0]?.port, port);
  }
  await openPeer(openRoom(mediaWorkerPool), 'p');
});

test('a worker waits while another process uses its port, and uses it once it is free', async (t) => {
  const lines: string[] = [];
  const mediaWorkerPool = await engineFor(t, {
    basePort: await freePort(),
    log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }),
  });
  const { pid, port } = mediaWorkerPool.workers()[0] ?? {};
  process.kill(pid ?? 0, 'SIGKILL');
  await eventually('death', () => mediaWorkerPool.workers()[0]?.state === 'restarting');
  const squatter = createSocket('udp4');
  squatter.bind(port ?? 0, '127.0.0.1');
  await once(squatter, 'listening');
  await eventually('a failed restart', () => lines.some((line) => line.includes('could not restart media worker')));
  assert.equal(mediaWorkerPool.workers()[0]?.state, 'restarting');
  squatter.close();
  await eventually('restart', () => mediaWorkerPool.workers()[0]?.state === 'running');
  assert.equal(mediaWorkerPool.workers()[0]?.port, port);
});

test('a hanging worker fails the request that times out, is killed and replaced', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const { media } = await openPeer(room, 'p');
  const pid = mediaWorkerPool.workers()[0]?.pid ?? 0;
  process.kill(pid, 'SIGSTOP');
  await assert.rejects(media.stats(), (error) => unavailable(error) && /did not respond in time/.test(String(error)));
  await eventually('crash', () => room.heard.crashes.length > 0);
  await eventually('restart', () => mediaWorkerPool.workers()[0]?.state === 'running');
  assert.equal(isAlive(pid), false);
});

test('a hanging worker is also killed and replaced without requests; a worker that only pauses is not', async (t) => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const mediaWorkerPool = await engineFor(t, { workers: 2, log });
  const [halted, doomed] = [openRoom(mediaWorkerPool, { roomId: 'halted' }), openRoom(mediaWorkerPool, { roomId: 'doomed' })];
  const [halts, hangs] = pidsOf(mediaWorkerPool);
  process.kill(halts ?? 0, 'SIGSTOP');
  process.kill(hangs ?? 0, 'SIGSTOP');
  const isLate = (line: string) => line.includes('media worker not responding') && line.includes(`"pid":${halts}`);
  await eventually('a failed check', () => lines.some(isLate));
  process.kill(halts ?? 0, 'SIGCONT');
  await eventually('crash', () => doomed.heard.crashes.length > 0);
  await eventually('restart', () => mediaWorkerPool.workers()[1]?.state === 'running');
  assert.deepEqual(doomed.heard.crashes, ['media worker hung']);
  assert.equal(isAlive(hangs ?? 0), false);
  assert.deepEqual(halted.heard.crashes, []);
  assert.equal(mediaWorkerPool.workers()[0]?.pid, halts);
  assert.deepEqual(
    mediaWorkerPool.workers().map(({ restarts, hangs }) => [restarts, hangs]),
    [
      [0, 0],
      [1, 1],
    ],
  );
});

test('close ends all workers, including hanging and restarting ones, and frees the ports', async () => {
  const mediaWorkerPool = await startMediaWorkerPool(engineOptions({ basePort: await freePort(), workers: 3 }));
  const room = openRoom(mediaWorkerPool);
  const pids = pidsOf(mediaWorkerPool);
  const ports = mediaWorkerPool.workers().map(({ port }) => port ?? 0);
  process.kill(pids[1] ?? 0, 'SIGSTOP');
  process.kill(pids[2] ?? 0, 'SIGKILL');
  await eventually('death', () => mediaWorkerPool.workers()[2]?.state === 'restarting');
  // During the restart, which begins 250 ms after the crash.
  await new Promise((resolve) => setTimeout(resolve, 255));
  const closed = mediaWorkerPool.close();
  assert.equal(mediaWorkerPool.close(), closed);
  await closed;
  for (const pid of pids) assert.equal(isAlive(pid), false);
  for (const port of ports) assert.equal(await isPortFree('127.0.0.1', port), true);
  assert.throws(() => openRoom(mediaWorkerPool), unavailable);
  await assert.rejects(room.rtpCapabilities(), unavailable);
  assert.deepEqual(room.heard.crashes, []);
});

test('a worker stopped by the Ctrl-C of the node does not crash its rooms; one that is stopped alone does', async (t) => {
  const { log, of } = recordedLog();
  const mediaWorkerPool = await engineFor(t, { log });
  const alone = openRoom(mediaWorkerPool);
  process.kill(pidsOf(mediaWorkerPool)[0] ?? 0, 'SIGINT');
  await eventually('death', () => mediaWorkerPool.workers()[0]?.state === 'restarting');
  assert.deepEqual(alone.heard.crashes, []);
  await eventually('crash', () => alone.heard.crashes.length > 0);
  await eventually('restart', () => mediaWorkerPool.workers()[0]?.state === 'running');
  const reported = of('warn', 'error').map(({ msg }) => msg);
  assert.deepEqual(reported, ['media worker died'], 'once, without the message of mediasoup');
  const together = openRoom(mediaWorkerPool);
  process.kill(pidsOf(mediaWorkerPool)[0] ?? 0, 'SIGINT');
  await eventually('death', () => mediaWorkerPool.workers()[0]?.state === 'restarting');
  await mediaWorkerPool.close();
  assert.deepEqual(together.heard.crashes, []);
  assert.deepEqual(of('warn', 'error').length, reported.length, 'a regular end causes no warning');
});

test('signals to the process are left to their owner: mediasoup closes no workers', async (t) => {
  const before = [process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')];
  const mediaWorkerPool = await engineFor(t, { workers: 2 });
  assert.deepEqual([process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')], before);
  await mediaWorkerPool.close();
  assert.deepEqual([process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')], before);
});

test('a transport connects once, restarts ICE, and rejects invalid parameters', async (t) => {
  const mediaWorkerPool = await engineFor(t, { maxIncomingBitrate: () => 500_000 });
  const { media, send } = await openPeer(openRoom(mediaWorkerPool), 'p');
  await assert.rejects(media.connectTransport(send, { fingerprints: [] }), { code: 'invalid_field' });
  await assert.rejects(media.connectTransport(send, { fingerprints: [{ algorithm: 'md5', value: 'AA' }] }), { code: 'invalid_field' });
  await assert.rejects(media.connectTransport('nope', dtlsParameters), { code: 'not_found' });
  await media.connectTransport(send, dtlsParameters);
  await assert.rejects(media.connectTransport(send, dtlsParameters), { code: 'invalid_field' });
  const parameters = await media.restartIce(send);
  assert.deepEqual(Object.keys(parameters).sort(), ['iceLite', 'password', 'usernameFragment']);
});
