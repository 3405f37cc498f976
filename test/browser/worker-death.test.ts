// A killed media worker: its room crashes, a room on another worker is not affected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { wholeRooms } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { blue, type ClientFixture, css, enter, red, startClientFixture } from './client-kit.ts';

test('a killed media worker crashes its room only, and the restarted worker accepts rooms', async (t) => {
  const first = await startClientFixture(t, { ...wholeRooms, SVC_WEBRTC_WORKERS: '2' });
  const { api } = first.node;
  const second: ClientFixture = { ...first, roomId: (await api.post('/room', {})).body.data.room.id };
  const events = await PeerSocket.enter(first.node.serverSocketUrl, first.node.token);
  t.after(() => events.cut());
  await events.request('subscribe', { events: ['RoomCrashed', 'PeerDisconnected'] });
  const [sender, viewer] = await Promise.all([enter(first, 'sender'), enter(first, 'viewer')]);
  const [doomed, other] = await Promise.all([enter(second, 'doomed'), enter(second, 'other')]);
  await Promise.all([sender.publish({ colour: css(red), tone: 440 }), doomed.publish({ colour: css(blue) })]);
  await Promise.all([viewer.sees(sender, red), viewer.hears(sender, 440), other.sees(doomed, blue)]);

  const workers = () => first.node.node.parts.media.workers();
  // Rooms are assigned to workers round-robin: the second room is on the second worker.
  const victim = workers()[1];
  assert.ok(victim?.pid !== undefined);
  await viewer.page.evaluate(() => kit.rooms.main?.gaps.clear());
  process.kill(victim.pid, 'SIGKILL');
  const crashed = await events.waitFor('roomEvent', ({ type }) => type === 'RoomCrashed');
  assert.equal(crashed.roomId, second.roomId);
  for (const peer of [doomed, other]) {
    await peer.page.waitForFunction(() => kit.rooms.main?.notes.some(({ name, detail }) => name === 'closed' && detail !== undefined));
    const closing = (await peer.notes('closed')).find(({ detail }) => detail !== undefined);
    assert.equal((closing?.detail as { code: number } | undefined)?.code, 1011);
  }
  await viewer.sees(sender, red);
  await viewer.hears(sender, 440);
  assert.deepEqual(await viewer.notes('reconnecting'), []);
  const gaps = await viewer.page.evaluate(() => [...(kit.rooms.main?.gaps.values() ?? [])]);
  t.diagnostic(`the longest time between two frames was ${Math.round(Math.max(...gaps))} ms`);
  assertPrompt('the next frame', Math.max(...gaps), { promised: 1_000 });

  const third: ClientFixture = { ...first, roomId: (await comesBack(workers, victim.pid, () => api.post('/room', {}))).body.data.room.id };
  const [again, friend] = await Promise.all([enter(third, 'again'), enter(third, 'friend')]);
  await again.publish({ colour: css(blue) });
  await friend.sees(again, blue);
  assert.deepEqual(
    workers().map(({ rooms }) => rooms),
    [1, 1],
  );
});

async function comesBack<T>(
  workers: () => readonly { pid: number | undefined; state: string }[],
  victim: number,
  then: () => Promise<T>,
): Promise<T> {
  await eventually('the worker is restarted', () => workers().every(({ pid, state }) => state === 'running' && pid !== victim));
  return then();
}
