// Room creation in the cluster: a request ends in bounded time and creates no room later.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { nodeRpcs, type ReservedName, roomCreationMs } from '../../../api/operations/node-rpcs.ts';
import { Arbiter } from '../../../node/cluster/arbiter.ts';
import { RoomCreator, type RoomCreatorOptions } from '../../../node/cluster/room-creator.ts';
import { silentLog } from '../../kit/silent-log.ts';

const mine: ReservedName = { space: 'externalId', name: 'mine' };
const idle = { forwardedTracks: 0, rooms: 0, cpu: 0, accepting: true };
const latestCallMs = roomCreationMs - nodeRpcs.createLocalRoom.timeoutMs;

/** A creator with a simulated clock; each node rejects rooms after `rejectsAfterMs`. */
function makeCreator({ rejectsAfterMs = 0 } = {}) {
  let now = 0;
  const called: number[] = [];
  const arbiter = new Arbiter(
    () => false,
    () => now,
  );
  const at = async (_node: string, rpc: unknown, input: unknown) => {
    if (rpc === nodeRpcs.reserve) {
      const { names, ticket } = input as { names: ReservedName[]; ticket: string };
      return arbiter.reserve(names, 'a', ticket);
    }
    called.push(now);
    now += rejectsAfterMs;
    throw new ServiceError('unavailable', 'The node did not respond');
  };
  const creator = new RoomCreator({
    links: { self: 'a', nodes: () => ['b', 'c'], cast: () => true },
    dispatcher: { at: at as RoomCreatorOptions['dispatcher']['at'] },
    arbiter,
    loads: { choose: async (decide) => decide(['a', 'b', 'c'].map((node) => ({ node, load: idle, pending: 0 }))), assign: () => {} },
    log: silentLog(),
    findByExternalId: async () => undefined,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
    now: () => now,
  });
  return { creator, arbiter, called, clock: () => now };
}

test('a request with the externalId of another one in progress ends before that could expire, and creates nothing', async () => {
  const { creator, arbiter, called, clock } = makeCreator();
  arbiter.reserve([mine], 'b', 'another ticket');
  await assert.rejects(creator.create({ externalId: mine.name }), { code: 'unavailable' });
  assert.deepEqual(called, []);
  assert.equal(clock(), latestCallMs + 25, 'the simulated clock');
});

test('no node is requested so late that its room would exceed the time of a creation', async () => {
  const { creator, called } = makeCreator({ rejectsAfterMs: 3_000 });
  await assert.rejects(creator.create({ externalId: mine.name }), { code: 'unavailable' });
  assert.deepEqual(called, [0, 3_000]);
});
