// Move queue: few peers of a room move at the same time, the others in their order.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { MoveQueue } from '../../../node/rooms/peers/paths/move-queue.ts';
import { turns } from '../../kit/turns.ts';

/** Moves in a queue of two at a time. `running`: the names of those whose turn it is. */
function startMoves(names: readonly string[]) {
  const queue = new MoveQueue(2);
  const running: string[] = [];
  const moves = names.map((name) => {
    const [controller, end] = [new AbortController(), Promise.withResolvers<void>()];
    const ended = queue.run(controller.signal, async () => {
      running.push(name);
      await end.promise.finally(() => running.splice(running.indexOf(name), 1));
    });
    ended.catch(() => {});
    return { ended, end, cancel: (reason: Error) => controller.abort(reason) };
  });
  return { moves, running };
}

describe('moves of a room', () => {
  test('begin in their order, when a former one succeeded or failed', async () => {
    const { moves, running } = startMoves(['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual(running, ['a', 'b'], 'at once');
    moves[1]?.end.resolve();
    await moves[1]?.ended;
    await turns(3);
    assert.deepEqual(running, ['a', 'c']);
    moves[0]?.end.reject(new Error('not moved'));
    await assert.rejects(moves[0]?.ended ?? Promise.resolve(), { message: 'not moved' });
    await turns(3);
    assert.deepEqual(running, ['c', 'd']);
    for (const { end } of moves) end.resolve();
    await Promise.all(moves.slice(1).map(({ ended }) => ended));
    assert.deepEqual(running, []);
  });

  test('that wait are cancelled or expire, and the next ones begin', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { moves, running } = startMoves(['a', 'b', 'c', 'd']);
    const reason = new Error('It disconnected');
    moves[2]?.cancel(reason);
    moves[0]?.end.resolve();
    await assert.rejects(moves[2]?.ended ?? Promise.resolve(), reason);
    await turns(3);
    assert.deepEqual(running, ['b', 'd']);
    const late = startMoves(['a', 'b', 'c']);
    t.mock.timers.tick(45_000);
    await assert.rejects(late.moves[2]?.ended ?? Promise.resolve(), { code: 'unavailable' });
    for (const { end } of late.moves) end.resolve();
    await turns(3);
    assert.deepEqual(late.running, []);
  });
});
