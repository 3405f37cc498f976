// RTP egress to components: plain RTP of a room over loopback, from the real worker and from its fake.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import { isRtcp, parseRtp, parseSenderReports, pictureLossIndication } from '../../node/components/rtp/rtp-reader.ts';
import { rtpPacket, senderReport } from '../../node/components/rtp/rtp-writer.ts';
import type { MediaEngine, RoomMedia, RtpIngress, WireObject } from '../../node/rooms/interfaces.ts';
import { emits, eventually } from '../kit/eventually.ts';
import { FakeMedia } from '../kit/fakes/fake-media.ts';
import { opusPacket } from '../kit/media/ogg-file.ts';
import { isPictureLoss, opus, ssrc, type Udp, udp, vp8 } from './component-rtp.ts';
import { engineFor, openRoom } from './kit.ts';

const code =
  (...expected: string[]) =>
  (error: unknown) =>
    error instanceof ServiceError && expected.includes(error.code);

const engines: readonly (readonly [name: string, open: (t: TestContext) => Promise<MediaEngine>])[] = [
  ['FakeMedia', async () => new FakeMedia()],
  ['Engine on mediasoup', (t) => engineFor(t)],
];

async function publish(
  t: TestContext,
  room: RoomMedia,
  rtpParameters: WireObject,
): Promise<{ input: RtpIngress; send: (packet: Buffer) => void; from: Udp }> {
  const from = await udp(t);
  const input = room.openInput();
  const { ip, port } = await input.connect(from.address);
  const kind = rtpParameters === opus ? 'audio' : 'video';
  await input.publish({ trackId: 'a', kind, rtpParameters });
  return { input, from, send: (packet) => from.socket.send(packet, port, ip) };
}

for (const [name, open] of engines) {
  describe(name, () => {
    const arrange = async (t: TestContext) => {
      const engine = await open(t);
      const room = openRoom(engine);
      return { room, to: await udp(t), ...(await publish(t, room, opus)) };
    };

    test('an RTP egress is connected once, then tracks are subscribed over it', async (t) => {
      const { room, to, input } = await arrange(t);
      const output = room.openOutput();
      await assert.rejects(output.subscribe('a'), code('conflict'));
      const { ip, port } = await output.connect(to.address);
      assert.deepEqual([ip, port > 0], ['127.0.0.1', true]);
      await assert.rejects(output.connect(to.address), code('conflict'));
      const { kind, clockRate, channels } = await output.subscribe('a');
      assert.deepEqual({ kind, clockRate, channels }, { kind: 'audio', clockRate: 48_000, channels: 2 });
      await output.resume('a');
      output.unsubscribe('a');
      output.unsubscribe('a');
      await assert.rejects(output.resume('a'), code('track_not_found'));
      await assert.rejects(output.subscribe('none'), code('track_not_found'));
      input.unpublish('a');
      await assert.rejects(output.subscribe('a'), code('track_not_found'));
    });

    test('after close, which is idempotent, or the end of the room nothing is sent', async (t) => {
      const { room, to } = await arrange(t);
      const output = room.openOutput();
      await output.connect(to.address);
      output.close();
      output.close();
      await assert.rejects(output.subscribe('a'), code('unavailable'));
      const other = room.openOutput();
      room.close();
      await assert.rejects(other.connect(to.address), code('unavailable'));
    });
  });
}

test('RTP flows after resume, with sender reports, and counts as forwarded', async (t) => {
  const began = Date.now();
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const { send } = await publish(t, room, opus);
  const to = await udp(t);
  const output = room.openOutput();
  await output.connect(to.address);
  const { ssrc: sent, payloadType } = await output.subscribe('a');
  assert.equal(mediaWorkerPool.load().forwardedTracks, 1);
  let sequence = 0;
  const sendOne = () => {
    sequence += 1;
    send(rtpPacket({ payloadType: 108, sequence, timestamp: sequence * 960, ssrc, marker: false }, opusPacket(50, sequence)));
    if (sequence % 10 === 1)
      send(senderReport({ ssrc, time: Date.now(), timestamp: sequence * 960, packets: sequence, octets: sequence * 50 }));
  };
  for (let count = 0; count < 20; count += 1) sendOne();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(
    to.received.filter((packet) => !isRtcp(packet)),
    [],
  );
  await output.resume('a');
  const pace = setInterval(sendOne, 20);
  t.after(() => clearInterval(pace));
  await eventually('RTP', () => to.received.filter((packet) => !isRtcp(packet)).length >= 10);
  const packet = parseRtp(to.received.find((each) => !isRtcp(each)) ?? Buffer.alloc(0));
  assert.deepEqual([packet?.ssrc, packet?.payloadType, packet?.payload.length], [sent, payloadType, 50]);
  await eventually('a sender report', () =>
    to.received.some((each) => isRtcp(each) && parseSenderReports(each).some((report) => report.ssrc === sent)),
  );
  const [report] = to.received.filter(isRtcp).flatMap(parseSenderReports);
  const now = Date.now();
  assert.ok(report && report.time > began - 10_000 && report.time < now + 10_000, 'its time is that of the local clock');
  output.close();
  await eventually('nothing forwarded', () => mediaWorkerPool.load().forwardedTracks === 0);
});

test('a resumed video track requests a key frame of its publisher, and a receiver can request more', async (t) => {
  const room = openRoom(await engineFor(t));
  const { from, send } = await publish(t, room, vp8);
  send(rtpPacket({ payloadType: 96, sequence: 1, timestamp: 1, ssrc, marker: true }, Buffer.from([0x10, 1, 2, 3, 4])));
  const to = await udp(t);
  const output = room.openOutput();
  const { port, ip } = await output.connect(to.address);
  const { ssrc: sent } = await output.subscribe('a');
  const asked = () => from.received.filter(isPictureLoss).length;
  await output.resume('a');
  await eventually('a first request', () => asked() >= 1);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const before = asked();
  to.socket.send(pictureLossIndication(1, sent), port, ip);
  await eventually('a second request', () => asked() > before);
});

/** VP8 payload in three temporal layers: the descriptor of RFC 7741 section 4.2, and the bytes that identify a key frame. */
function layeredVp8({ videoFrame, layer, sync, key }: { videoFrame: number; layer: number; sync: boolean; key: boolean }): Buffer {
  const descriptor = [0x90, 0xe0, 0x80 | (videoFrame >> 8), videoFrame & 0xff, videoFrame >> 2, (layer << 6) | (sync ? 0x20 : 0)];
  return Buffer.from([...descriptor, key ? 0x10 : 0x11, 2, 0, 0x9d, 0x01, 0x2a, 0x40, 0, 0xb4, 0]);
}

test('a key frame is requested until it arrives, its track is paused or its receiver leaves', async (t) => {
  const room = openRoom(await engineFor(t));
  const [from, to] = [await udp(t), await udp(t)];
  const [input, output] = [room.openInput(), room.openOutput()];
  const { ip, port } = await input.connect(from.address);
  const feedback = await output.connect(to.address);
  const names = ['answered', 'left', 'paused', 'ignored', 'repeated'] as const;
  type Name = (typeof names)[number];
  const sent = new Map<Name, number>();
  for (const [index, trackId] of names.entries()) {
    await input.publish({ trackId, kind: 'video', rtpParameters: { ...vp8, encodings: [{ ssrc: index + 1 }] } });
    sent.set(trackId, (await output.subscribe(trackId)).ssrc);
    await output.resume(trackId);
  }
  const send = (name: Name, sequence: number, frame: Buffer) => {
    const header = { payloadType: 96, sequence, timestamp: sequence * 3000, ssrc: names.indexOf(name) + 1, marker: true };
    from.socket.send(rtpPacket(header, frame), port, ip);
  };
  /** Tracks of the requests, in the order of their arrival. */
  const requests = () => from.received.filter(isPictureLoss).map((packet) => names[packet.readUInt32BE(8) - 1]);
  const countOf = (name: Name, all = requests()) => all.filter((each) => each === name).length;
  const wakes = emits(from.socket, 'message');

  for (const name of names) send(name, 1, Buffer.from([0x10, 1, 2, 3, 4]));
  await eventually('first requests', () => names.every((name) => countOf(name) >= 1), { wakes });
  output.unsubscribe('left');
  await input.setPaused('paused', true);
  await eventually('third requests', () => countOf('answered') === 3 && countOf('repeated') === 3, { wakes });
  const keyFrame = Buffer.from([0x10, 0x10, 2, 0, 0x9d, 0x01, 0x2a, 0x40, 0, 0xb4, 0]);
  send('answered', 2, keyFrame);
  to.socket.send(pictureLossIndication(1, sent.get('repeated') ?? 0), feedback.port, feedback.ip);
  await eventually('the key frame', () => to.received.some((packet) => parseRtp(packet)?.ssrc === sent.get('answered')));

  // The requests of a worker are sent in the order of their times, so all others that were due before this one have arrived.
  await eventually('a fourth request', () => countOf('ignored') === 4, { wakes });
  const before = requests().slice(0, requests().lastIndexOf('ignored'));
  assert.deepEqual(
    (['answered', 'left', 'paused'] as const).map((name) => countOf(name, before)),
    [3, 2, 2],
    'once more after a second, then only while the key frame is needed',
  );
  assert.ok(countOf('repeated', before) >= 4, 'a receiver that requests it again does not wait for the long pause to end');
  assert.deepEqual(
    to.received.filter((packet) => !isRtcp(packet)).map((packet) => parseRtp(packet)?.payload),
    [keyFrame],
  );
});

test('VP8 with three temporal layers starts with the requested key frame, then has all layers', async (t) => {
  const room = openRoom(await engineFor(t));
  const { from, send } = await publish(t, room, { ...vp8, encodings: [{ ssrc, scalabilityMode: 'L1T3' }] });
  let videoFrame = 0;
  let asked = true;
  from.socket.on('message', (packet) => {
    if (isPictureLoss(packet)) asked = true;
  });
  const sendOne = () => {
    videoFrame += 1;
    const layer = [0, 2, 1, 2][videoFrame % 4] ?? 0;
    const key = asked && layer === 0;
    if (key) asked = false;
    const frame = layeredVp8({ videoFrame, layer, sync: layer > 0 || key, key });
    send(rtpPacket({ payloadType: 96, sequence: videoFrame, timestamp: videoFrame * 3000, ssrc, marker: true }, frame));
  };
  const pace = setInterval(sendOne, 10);
  t.after(() => clearInterval(pace));
  // Long enough for the room to detect all layers.
  await eventually('the first frames', () => videoFrame > 30);
  const to = await udp(t);
  const output = room.openOutput();
  await output.connect(to.address);
  await output.subscribe('a');
  await output.resume('a');
  const frames = () => to.received.filter((packet) => !isRtcp(packet)).flatMap((packet) => parseRtp(packet)?.payload ?? []);
  const layerOf = (payload: Buffer) => (payload[5] ?? 0) >> 6;
  await eventually('frames of all layers', () => new Set(frames().map(layerOf)).size === 3);
  const [first] = frames();
  assert.deepEqual([first && layerOf(first), first && (first[6] ?? 1) & 1], [0, 0], 'the first frame is a key frame');
});
