// Room stats of a node match the stats of the browsers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoomStats } from '../../api/stats.ts';
import { eventually } from '../kit/eventually.ts';
import { keepDoing } from '../kit/pace.ts';
import { css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';

/** Bytes that a browser sent over its transports, with the time. */
function sentBy({ page }: PagePeer): Promise<{ bytes: number; at: number }> {
  return page.evaluate(async () => {
    const report = (await kit.rooms.main?.room.getStats())?.send;
    const transports = [...(report?.values() ?? [])].filter(({ type }) => type === 'transport') as RTCTransportStats[];
    return { bytes: transports.reduce((sum, { bytesSent = 0 }) => sum + bytesSent, 0), at: performance.now() };
  });
}

test('room stats contain links, bitrates, round trips and layers of a call', async (t) => {
  const fixture = await startClientFixture(t);
  const { api } = fixture.node;
  const [sender, viewer] = await Promise.all([enter(fixture, 'sender'), enter(fixture, 'viewer')]);
  await sender.publish({ colour: css(red), width: 640, height: 360, rate: 30, tone: 440 });
  await viewer.sees(sender, red);
  await viewer.hears(sender, 440);
  const read = async (): Promise<RoomStats> => (await api.get(`/room/${fixture.roomId}/stats`)).body.data;
  const peerOf = (stats: RoomStats, { id }: PagePeer) => {
    const peer = stats.peers.find((each) => each.id === id);
    assert.ok(peer);
    return peer;
  };
  let seen: RoomStats | undefined;
  await eventually('everything is measured', async () => {
    seen = await read();
    const { up } = peerOf(seen, sender);
    const { down, received } = peerOf(seen, viewer);
    const video = received.find(({ kind }) => kind === 'video');
    const rates = [up?.bitrate ?? 0, down?.bitrate ?? 0].every((bitrate) => bitrate > 30_000);
    return rates && up?.loss !== null && down?.loss !== null && (down?.roundTrip ?? 0) > 0 && video?.layers !== null;
  });
  assert.ok(seen);
  const { up, published, status, quality } = peerOf(seen, sender);
  const { down, received } = peerOf(seen, viewer);
  assert.deepEqual([status, up?.state, up?.protocol, down?.state, down?.protocol], ['connected', 'connected', 'udp', 'connected', 'udp']);
  assert.ok(['excellent', 'good', 'poor', 'bad'].includes(quality), quality);
  assert.deepEqual(published.map(({ kind }) => kind).sort(), ['audio', 'video']);
  assert.deepEqual(received.map(({ trackId }) => trackId).sort(), published.map(({ trackId }) => trackId).sort());
  assert.ok((published.find(({ kind }) => kind === 'video')?.encodings.length ?? 0) >= 1);
  // Averaged over some seconds, because the bitrate fluctuates.
  const before = await sentBy(sender);
  const bitrates: number[] = [];
  await keepDoing(8_000, async () => bitrates.push(peerOf(await read(), sender).up?.bitrate ?? 0), 1_000);
  const after = await sentBy(sender);
  const own = ((after.bytes - before.bytes) * 8 * 1000) / (after.at - before.at);
  const reported = bitrates.reduce((sum, bitrate) => sum + bitrate, 0) / bitrates.length;
  assert.ok(reported > own * 0.5 && reported < own * 1.6, `the browser sent ${Math.round(own)} bit/s, the node reported ${bitrates}`);
  await viewer.page.close();
  await eventually('the peer that left is disconnected', async () => peerOf(await read(), viewer).status === 'disconnected');
});
