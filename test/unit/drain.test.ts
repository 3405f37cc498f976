// Drain of a node: its effect on rooms, notifications, and cancellation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import { Drain } from '../../node/drain.ts';
import { flushEvents, joinPeer, makeRooms } from '../kit/fakes/rooms.ts';
import { fieldsOf } from '../kit/fields.ts';
import { silentLog } from '../kit/silent-log.ts';

async function startDrain({ clustered = false } = {}) {
  const made = makeRooms({}, { clustered });
  const notified: (Date | null)[] = [];
  const states: string[] = [];
  const drain = new Drain({
    rooms: made.rooms,
    notifyPeers: (deadline) => notified.push(deadline),
    stateChanged: (state) => states.push(state),
    log: silentLog(),
  });
  await made.rooms.createRoom({ roomId: 'busy' });
  await made.rooms.createRoom({ roomId: 'empty' });
  const alice = await joinPeer(made.rooms, 'busy', 'alice');
  return { ...made, drain, notified, states, alice };
}

test('rooms without peers end at once, the others at the deadline, which peers get', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { rooms, drain, notified, alice } = await startDrain();
  drain.start(60_000);
  assert.deepEqual(fieldsOf([...rooms.all()], 'id'), ['busy']);
  assert.deepEqual(notified, [new Date(60_000)]);
  assert.deepEqual(drain.deadline, new Date(60_000));
  t.mock.timers.tick(60_000);
  assert.equal(rooms.size, 0);
  assert.equal(alice.connection.closed, 'roomStopped');
  assert.equal(drain.state, 'draining', 'the node keeps running until its shutdown signal');
});

test('a drain can be cancelled: rooms are accepted again, peers are notified, the deadline is removed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { rooms, drain, notified, states } = await startDrain();
  drain.start(60_000);
  await assert.rejects(rooms.createRoom({}), { code: 'no_node_accepts_rooms' });
  drain.cancel();
  await rooms.createRoom({ roomId: 'new' });
  t.mock.timers.tick(120_000);
  assert.equal(rooms.size, 2);
  assert.equal(notified.at(-1), null);
  assert.deepEqual(states, ['draining', 'accepting']);
});

test('during shutdown a drain cannot be cancelled and completes with the last room', async () => {
  const { drain, alice, events } = await startDrain();
  drain.start(600_000);
  const ended = drain.terminate(600_000);
  const isFinal = (error: unknown) => error instanceof ServiceError && error.code === 'terminating';
  assert.throws(() => drain.cancel(), isFinal);
  assert.throws(() => drain.start(1), isFinal);
  alice.peer.disconnect();
  await ended;
  await flushEvents();
  assert.equal(events.at(-1)?.reason, 'draining');
});

test('without a drain timeout every room ends at once, with the reason shutdown', async () => {
  const { rooms, drain, events, alice } = await startDrain();
  await drain.terminate(0);
  assert.equal(rooms.size, 0);
  assert.equal(alice.connection.closed, 'roomStopped');
  assert.deepEqual(
    fieldsOf(
      events.filter(({ type }) => type === 'RoomDeleted'),
      'reason',
    ),
    ['shutdown', 'shutdown'],
  );
});

for (const state of ['draining', 'terminating'] as const) {
  test(`in a cluster a room of a ${state} node closes as lost and may be retried; a deleted room does not`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms, drain, alice } = await startDrain({ clustered: true });
    const { incarnation } = rooms.room('busy');
    const { room } = await rooms.createRoom({});
    const deleted = await joinPeer(rooms, room.id, 'bob');
    await rooms.deleteRoom(room.id);
    assert.equal(deleted.connection.closed, 'roomStopped');
    assert.equal(rooms.roomNotFoundError(room.id, 'bob', room.incarnation).code, 'room_ended');
    if (state === 'draining') drain.start(60_000);
    else void drain.terminate(60_000);
    t.mock.timers.tick(60_000);
    assert.equal(alice.connection.closed, 'roomMoved');
    assert.equal(rooms.roomNotFoundError('busy', 'alice', incarnation).code, 'room_not_found');
    // REST returns the reason.
    await assert.rejects(rooms.getRoom('busy'), { code: 'room_ended', reason: 'draining' });
  });
}
