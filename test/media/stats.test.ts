// Stats of real media: bitrate and packet loss, and nothing for tracks without media.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PublishedTrackStats } from '../../api/stats.ts';
import { eventually } from '../kit/eventually.ts';
import { encodeContent, startPublisher } from '../kit/media/rtp-publisher.ts';
import { engineFor, openPeer, openRoom, opusParameters, videoParameters } from './kit.ts';

/** Milliseconds over which bitrates are compared: the window of the stats. */
const span = 2_500;

test('bitrate is close to the sent rate, and loss to the dropped packets', async (t) => {
  const room = openRoom(await engineFor(t));
  const lossy = room.openInput();
  const whole = room.openInput();
  const file = await encodeContent(t, 'vp8', '0xc03030');
  const sent: { at: number; bytes: number }[] = [];
  const publish = (input: typeof lossy, trackId: string, lose: (number: number, packet: Buffer) => boolean) =>
    startPublisher(t, { codec: 'vp8', input, trackId, content: '0xc03030', file, lose });
  await publish(lossy, 'lossy', (number) => number % 5 === 0);
  await publish(whole, 'whole', (_, packet) => {
    sent.push({ at: performance.now(), bytes: packet.length });
    return false;
  });
  const read = async (): Promise<{ one: PublishedTrackStats; other: PublishedTrackStats }> => {
    const [[one], [other]] = await Promise.all([lossy.trackStats(), whole.trackStats()]);
    assert.ok(one && other);
    return { one, other };
  };
  const sentBitrate = () => {
    const since = performance.now() - span;
    return (sent.filter(({ at }) => at > since).reduce((sum, { bytes }) => sum + bytes, 0) * 8 * 1000) / span;
  };
  const sentFor = () => performance.now() - (sent[0]?.at ?? Number.POSITIVE_INFINITY);
  let seen: Awaited<ReturnType<typeof read>> | undefined;
  await eventually('loss and bitrate match the sent media', async () => {
    seen = await read();
    // Packets that waited for a busy worker count when they are read, later than they were sent.
    const near = Math.abs(seen.other.bitrate / sentBitrate() - 1) < 0.4;
    return near && (seen.one.loss ?? 0) > 0.1 && sentFor() > 2 * span;
  });
  assert.ok(seen);
  const { one, other } = seen;
  assert.deepEqual([one.trackId, one.kind, one.encodings.length, other.trackId], ['lossy', 'video', 1, 'whole']);
  assert.ok((one.loss ?? 1) < 0.3, `a fifth was dropped, reported is ${one.loss}`);
  assert.equal(other.loss, 0);
  assert.ok((other.jitter ?? -1) >= 0 && (other.jitter ?? 1_000) < 500, `jitter of ${other.jitter} ms`);
});

test('a peer without media has stats of its transports, and tracks without values', async (t) => {
  const room = openRoom(await engineFor(t));
  const { media, send } = await openPeer(room, 'alice');
  await media.publish({ transportId: send, trackId: 'a', kind: 'audio', rtpParameters: opusParameters('0'), paused: false });
  const simulcast = videoParameters('1', 'VP8', true);
  await media.publish({ transportId: send, trackId: 'v', kind: 'video', rtpParameters: simulcast, paused: false });
  const bob = await openPeer(room, 'bob');
  const capabilities = await room.rtpCapabilities();
  await bob.media.subscribe('a', capabilities);
  await bob.media.subscribe('v', capabilities);
  const nothing = { bitrate: 0, loss: null, roundTrip: null, jitter: null };
  const idle = { ...nothing, state: 'new', protocol: null };
  const alice = await media.mediaStats(10);
  assert.deepEqual({ ...alice.up, available: null }, { ...idle, available: null });
  assert.deepEqual(
    alice.published.map(({ trackId, bitrate, loss }) => [trackId, bitrate, loss]),
    [
      ['a', 0, null],
      ['v', 0, null],
    ],
  );
  const { received, receivedOmitted } = await bob.media.mediaStats(1);
  assert.deepEqual([received, receivedOmitted], [[{ trackId: 'a', kind: 'audio', ...nothing, layers: null }], 1]);
  bob.media.close();
  await assert.rejects(bob.media.mediaStats(1), { code: 'unavailable' });
});
