// Reconnects of the client library: media continues or recovers without a reload of the page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { blue, type ClientFixture, css, enter, red, startClientFixture } from './client-kit.ts';

/** Resolves when all sessions have expired and their tracks are removed. */
async function sessionsEnd({ node, roomId }: ClientFixture): Promise<void> {
  const { api } = node;
  const left = async (): Promise<unknown[]> =>
    (await api.get(`/room/${roomId}`)).body.data.peers.flatMap((peer: { tracks: unknown[] }) => peer.tracks);
  await eventually('the sessions expire', async () => (await left()).length === 0, { every: 100 });
}

test('media continues while only the websockets are cut for five seconds', async (t) => {
  // On a busy machine, the checks of video and audio take longer than the default resume window.
  const fixture = await startClientFixture(t, { SVC_PEER_RESUME_WINDOW: '120' });
  const proxy = await startTcpProxy(t, fixture.node.port);
  const [first, second] = await Promise.all([enter(fixture, 'first', {}, proxy.port), enter(fixture, 'second', {}, proxy.port)]);
  await Promise.all([first.publish({ colour: css(red), tone: 440 }), second.publish({ colour: css(blue) })]);
  await Promise.all([first.sees(second, blue), second.sees(first, red), second.hears(first, 440)]);
  for (const { page } of [first, second]) await page.evaluate(() => kit.rooms.main?.gaps.clear());
  const cutAt = await Promise.all([first.now(), second.now()]);
  proxy.cut();
  await second.waitForNote('reconnecting', cutAt[1]);
  const sent = first.page.evaluate(() => kit.rooms.main?.room.sendData('chat', 'sent while cut'));
  await wait(5_000);
  assert.equal(await second.state(), 'reconnecting');
  await Promise.all([first.sees(second, blue), second.sees(first, red), second.hears(first, 440)]);
  proxy.restore();
  await Promise.all([first.waitForNote('joined', cutAt[0]), second.waitForNote('joined', cutAt[1])]);
  await sent;
  assert.deepEqual((await second.waitForNote('data', cutAt[1])).detail, { from: 'first', label: 'chat', payload: 'sent while cut' });
  for (const peer of [first, second]) {
    assert.deepEqual(await peer.notes('trackUnsubscribed'), []);
    const gaps = await peer.page.evaluate(() => [...(kit.rooms.main?.gaps.values() ?? [])]);
    assert.ok(gaps.length > 0);
    t.diagnostic(`the longest time between two frames was ${Math.round(Math.max(...gaps))} ms`);
    // If media stopped with the websockets, the gap would be at least the five seconds of the cut.
    assertPrompt('the next frame', Math.max(...gaps), { promised: 1_000 });
  }
});

test('both pages recover with media after a cut that is longer than the resume window', async (t) => {
  const fixture = await startClientFixture(t, { SVC_PEER_RESUME_WINDOW: '3' });
  const proxy = await startTcpProxy(t, fixture.node.port);
  const [first, second] = await Promise.all([enter(fixture, 'first', {}, proxy.port), enter(fixture, 'second', {}, proxy.port)]);
  await Promise.all([first.publish({ colour: css(red), tone: 440 }), second.publish({ colour: css(blue), tone: 1000 })]);
  await Promise.all([first.sees(second, blue), second.sees(first, red)]);
  const before = await first.page.evaluate(() => kit.rooms.main?.room.localTracks.map(({ id }) => id) ?? []);
  await first.page.evaluate(() => kit.rooms.main?.room.localTracks.find(({ kind }) => kind === 'audio')?.pause());
  const cutAt = await Promise.all([first.now(), second.now()]);
  proxy.cut();
  await sessionsEnd(fixture);
  proxy.restore();
  await Promise.all([first.waitForNote('joined', cutAt[0]), second.waitForNote('joined', cutAt[1])]);
  await Promise.all([first.sees(second, blue), second.sees(first, red), first.hears(second, 1000)]);
  // The paused track is published after the visible one.
  await eventuallyIn(first.page, (old) => kit.rooms.main?.room.localTracks.every(({ id }) => !old.includes(id)), before);
  const paused = await first.page.evaluate(() => kit.rooms.main?.room.localTracks.map((track) => track.paused));
  assert.deepEqual(paused?.sort(), [false, true], 'a paused track is published paused');
  await first.page.evaluate(() => kit.rooms.main?.room.localTracks.find(({ kind }) => kind === 'audio')?.resume());
  await second.hears(first, 440);
});

test('a page that leaves is removed immediately for other peers', async (t) => {
  // Its session does not wait for a resume, unlike that of a lost peer.
  const fixture = await startClientFixture(t, { SVC_PEER_RESUME_WINDOW: '120' });
  const [first, second] = await Promise.all([enter(fixture, 'first'), enter(fixture, 'second')]);
  await first.publish({ colour: css(red) });
  await second.sees(first, red);
  // Not close(): Chromium gives a closed tab half a second for its last message, which is too short on a busy machine.
  await first.page.goto('about:blank');
  await second.page.waitForFunction(() => kit.rooms.main?.room.peers.size === 0);
});

test('a failed media path gets new ICE parameters, and media continues', async (t) => {
  const fixture = await startClientFixture(t);
  const [first, second] = await Promise.all([enter(fixture, 'first'), enter(fixture, 'second')]);
  await first.publish({ colour: css(red) });
  await second.sees(first, red);
  const fragments = () =>
    second.page.evaluate(() => kit.connections.map(({ remoteDescription }) => /ice-ufrag:(\S+)/.exec(remoteDescription?.sdp ?? '')?.[1]));
  const [before] = await fragments();
  // The loopback interface cannot be removed, so the page fakes the connection state of a lost network.
  await second.page.evaluate(() => {
    const [connection] = kit.connections;
    if (!connection) throw new Error('No connection exists');
    Object.defineProperty(connection, 'connectionState', { configurable: true, get: () => 'failed' });
    connection.dispatchEvent(new Event('connectionstatechange'));
    Reflect.deleteProperty(connection, 'connectionState');
  });
  await eventuallyIn(
    second.page,
    (old) => {
      const [connection] = kit.connections;
      const now = /ice-ufrag:(\S+)/.exec(connection?.remoteDescription?.sdp ?? '')?.[1];
      return connection?.connectionState === 'connected' && now !== undefined && now !== old;
    },
    before,
  );
  await second.sees(first, red);
  assert.deepEqual(await second.notes('trackUnsubscribed'), []);
});

test('a server mute during a websocket cut is reported, applies to the new session, and is removed by an unmute', async (t) => {
  const fixture = await startClientFixture(t, { SVC_PEER_RESUME_WINDOW: '15' });
  const proxy = await startTcpProxy(t, fixture.node.port);
  const [first, second] = await Promise.all([enter(fixture, 'first', {}, proxy.port), enter(fixture, 'second')]);
  await first.publish({ tone: 440 });
  await second.hears(first, 440);
  const own = () => first.page.evaluate(() => kit.rooms.main?.room.localTracks.map(({ id, muted }) => ({ id, muted })) ?? []);
  const seen = () => second.page.evaluate(() => [...(kit.rooms.main?.room.peers.values() ?? [])].flatMap(({ tracks }) => tracks));
  const [before] = await own();
  const { api } = fixture.node;
  const cutAt = await first.now();
  proxy.cut();
  await first.waitForNote('reconnecting', cutAt);
  assert.equal((await api.post(`/room/${fixture.roomId}/track/${before?.id}/mute`)).status, 204);
  proxy.restore();
  assert.equal((await first.waitForNote('localTrackMuted', cutAt)).detail, true);
  assert.deepEqual(await own(), [{ id: before?.id, muted: true }]);
  await second.hears(first, 0);
  assert.deepEqual(
    (await seen()).map(({ muted }) => muted),
    [true],
  );

  const lostAt = await first.now();
  proxy.cut();
  await eventuallyIn(second.page, (peerId) => !kit.rooms.main?.room.peers.get(peerId)?.tracks.length, 'first', 60_000);
  proxy.restore();
  await eventuallyIn(second.page, (peerId) => kit.rooms.main?.room.peers.get(peerId)?.tracks.length === 1, 'first', 60_000);
  const again = (await seen())[0]?.id ?? '';
  assert.notEqual(again, before?.id);
  await eventuallyIn(first.page, (id) => kit.rooms.main?.room.localTracks[0]?.id === id, again, 60_000);
  const [after] = await own();
  assert.ok(after?.muted);
  const now = async () => (await seen()).map(({ id, muted }) => ({ id, muted }));
  assert.deepEqual(await now(), [after]);
  const reported = (await first.notes('localTrackMuted')).filter(({ at }) => at > lostAt);
  assert.deepEqual(reported, [], 'nothing changed');
  await second.hears(first, 0);
  assert.equal((await api.post(`/room/${fixture.roomId}/track/${after.id}/unmute`)).status, 204);
  assert.equal((await first.waitForNote('localTrackMuted', lostAt)).detail, false);
  await second.hears(first, 440);
  assert.deepEqual(await now(), [{ ...after, muted: false }]);
});
