// Rooms on several media workers: tracks are piped between them while somebody receives them there.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import { isRtcp, parseRtp } from '../../node/components/rtp/rtp-reader.ts';
import { rtpPacket } from '../../node/components/rtp/rtp-writer.ts';
import type { RoomMedia } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { isPictureLoss, opus, ssrc, udp, vp8 } from './component-rtp.ts';
import { engineFor, openPeer, openRoom, opusParameters, pidsOf, videoParameters } from './kit.ts';

/** Bytes that identify a VP8 key frame (RFC 6386, section 9.1) behind an empty descriptor (RFC 7741). */
const keyFrame = Buffer.from([0x10, 0x10, 2, 0, 0x9d, 0x01, 0x2a, 0x40, 0, 0xb4, 0]);

/** A room on two workers: an input at the first, and an output at the second. */
async function onTwoLegs(t: TestContext) {
  const engine = await engineFor(t, { workers: 2, maxWorkerTracks: () => 1 });
  const room = openRoom(engine);
  const [first, second] = [await openPeer(room, 'first'), await openPeer(room, 'second')];
  const input = room.openInput();
  const from = await udp(t);
  const to = await input.connect(from.address);
  // Now the first leg has more peers than the second.
  await openPeer(room, 'third');
  const output = room.openOutput();
  const received = await udp(t);
  await output.connect(received.address);
  assert.deepEqual(
    room.legs().map(({ worker, peers }) => ({ worker, peers })),
    [
      { worker: 0, peers: 2 },
      { worker: 1, peers: 1 },
    ],
  );
  const send = (packet: Buffer) => from.socket.send(packet, to.port, to.ip);
  return { engine, room, first, second, input, output, from, send, received: received.received };
}

const piped = (room: RoomMedia) => room.legs().map(({ pipedTracks }) => pipedTracks);

test('a track is piped to another leg while it is received there', async (t) => {
  const { engine, room, input, output, send, received } = await onTwoLegs(t);
  await input.publish({ trackId: 'a', kind: 'audio', rtpParameters: opus });
  assert.deepEqual(piped(room), [0, 0]);
  await output.subscribe('a');
  await output.resume('a');
  let sequence = 0;
  const pace = setInterval(() => {
    sequence += 1;
    send(rtpPacket({ payloadType: 108, sequence, timestamp: sequence * 960, ssrc, marker: false }, Buffer.from(`packet ${sequence}`)));
  }, 20);
  t.after(() => clearInterval(pace));
  const texts = () => received.filter((packet) => !isRtcp(packet)).map((packet) => parseRtp(packet)?.payload.toString() ?? '');
  await eventually('ten packets', () => texts().length >= 10);
  const first = Number(texts()[0]?.slice('packet '.length));
  assert.deepEqual(
    texts().slice(0, 10),
    Array.from({ length: 10 }, (_, index) => `packet ${first + index}`),
  );
  assert.deepEqual(piped(room), [0, 1]);
  const { bytes, ...counts } = await engine.pipes.read();
  // A packet has 12 bytes of header (RFC 3550, section 5.1).
  assert.ok(bytes >= 10 * (12 + 'packet 1'.length), `${bytes} bytes were piped`);
  assert.deepEqual(counts, { pipes: 1, packetsLost: 0, failures: 0 });
  output.unsubscribe('a');
  await eventually('the track is no longer piped', () => piped(room)[1] === 0);
  const after = await engine.pipes.read();
  assert.ok(after.bytes >= bytes, `${after.bytes} bytes were piped after ${bytes}`);
  assert.equal(after.pipes, 0);
  await output.subscribe('a');
  await output.resume('a');
  const before = texts().length;
  await eventually('more packets', () => texts().length > before);
});

test('a key frame request crosses the pipe, and a pause of the publisher is known at the other leg', async (t) => {
  const { room, second, input, output, from, send, received } = await onTwoLegs(t);
  const rtpCapabilities = await room.rtpCapabilities();
  await input.publish({ trackId: 'v', kind: 'video', rtpParameters: vp8 });
  let sequence = 0;
  const sendOne = () => {
    sequence += 1;
    send(rtpPacket({ payloadType: 96, sequence, timestamp: sequence * 3000, ssrc, marker: true }, keyFrame));
  };
  sendOne();
  await output.subscribe('v');
  await output.resume('v');
  await eventually('a request', () => from.received.some(isPictureLoss));
  sendOne();
  await eventually('the key frame', () => received.some((packet) => parseRtp(packet)?.payload.equals(keyFrame)));
  await input.setPaused('v', true);
  assert.equal((await second.media.subscribe('v', rtpCapabilities))?.paused, true);
});

test('a track that ends or never existed is not found at any leg', async (t) => {
  const { room, first, second } = await onTwoLegs(t);
  const rtpCapabilities = await room.rtpCapabilities();
  const notFound = (error: unknown) => error instanceof ServiceError && error.code === 'track_not_found';
  await first.publish('v', 'video', videoParameters('0', 'VP8', true));
  assert.equal((await second.media.subscribe('v', rtpCapabilities))?.kind, 'video');
  assert.deepEqual(piped(room), [0, 1]);
  first.media.unpublish('v');
  await eventually('nothing is piped', () => piped(room)[1] === 0);
  await assert.rejects(second.media.subscribe('v', rtpCapabilities), notFound);
  await first.publish('v', 'video', videoParameters('1', 'VP8', true));
  assert.equal((await second.media.subscribe('v', rtpCapabilities))?.kind, 'video');
});

test('a track that a stalled worker does not take is counted', async (t) => {
  const { engine, room, first, second } = await onTwoLegs(t);
  const rtpCapabilities = await room.rtpCapabilities();
  await first.publish('a', 'audio', opusParameters('0'));
  const [, pid = 0] = pidsOf(engine);
  process.kill(pid, 'SIGSTOP');
  await assert.rejects(second.media.subscribe('a', rtpCapabilities));
  assert.equal((await engine.pipes.read()).failures, 1);
});

test('hundred receivers that come and go at two legs at once share one pipe and leave none', async (t) => {
  const { engine, room, first } = await onTwoLegs(t);
  const rtpCapabilities = await room.rtpCapabilities();
  await first.publish('a', 'audio', opusParameters('0'));
  const peers = await Promise.all(Array.from({ length: 100 }, (_, index) => openPeer(room, `p${index}`)));
  await Promise.all(peers.map(({ media }) => media.subscribe('a', rtpCapabilities)));
  assert.deepEqual([piped(room), engine.load().forwardedTracks], [[0, 1], 100]);
  const counts = room.legs().map(({ forwardedTracks }) => forwardedTracks);
  assert.ok(Math.min(...counts) >= 45, `tracks by leg: ${counts}`);
  for (const { media } of peers) media.close();
  await eventually('nothing is piped', () => piped(room)[1] === 0);
  room.close();
  assert.equal(await engine.countRouters(), 0);
});

test('a room has one leg while its worker is below the bound, and without a bound', async (t) => {
  const bound: { value: number | undefined } = { value: 3 };
  const engine = await engineFor(t, { workers: 2, maxWorkerTracks: () => bound.value });
  const room = openRoom(engine);
  const open = async (count: number) => {
    for (let index = 0; index < count; index += 1) await openPeer(room, `p${room.legs().length}-${index}`);
    return room.legs().map(({ peers }) => peers);
  };
  assert.deepEqual(await open(3), [3]);
  assert.deepEqual(await open(2), [3, 2]);
  bound.value = undefined;
  const other = openRoom(engine, { roomId: 'other' });
  for (let index = 0; index < 10; index += 1) await openPeer(other, `q${index}`);
  assert.equal(other.legs().length, 1);
});
