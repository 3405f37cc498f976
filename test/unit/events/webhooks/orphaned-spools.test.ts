// Orphaned spools of nodes that returned under another name: taken over if unused, left alone if in use.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { OrphanedSpools, type OrphanedSpoolsOptions } from '../../../../node/events/webhooks/orphaned-spools.ts';
import { SpoolFolder } from '../../../../node/events/webhooks/spool-folder.ts';
import { eventually } from '../../../kit/eventually.ts';
import { openStore, roomEvent, startWebhooks, testSettings, untilPending } from '../../../kit/fakes/webhooks.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { accept, reject, startReceiver } from '../../../kit/network/webhook-receiver.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

/** @returns a folder in which a node left events 1 and 2 of a room, because their receiver rejected them */
async function left(t: TestContext, name: string): Promise<string> {
  const base = tempFolder(t);
  const { url } = await startReceiver(t, reject(500));
  const { webhooks } = startWebhooks(t, testSettings(), { store: await openStore(base, name), dispatcher: { delay: () => 1_000_000 } });
  for (const seq of [1, 2]) webhooks.publish(roomEvent('one', seq), url);
  await webhooks.close(0);
  return base;
}

/** A folder in use by a node on another host. */
function elsewhere(base: string, name: string): { path: string; touch: (second: number) => void } {
  const path = join(base, name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'dead-letters.jsonl'), '');
  writeFileSync(join(path, 'owner'), 'another machine');
  return { path, touch: (second) => utimesSync(join(path, 'owner'), second, second) };
}

function scan(base: string, options: Partial<OrphanedSpoolsOptions> = {}) {
  const taken: string[][] = [];
  const spools = new OrphanedSpools({
    log: silentLog(),
    base,
    own: join(base, 'own@host'),
    take: async ({ pending }) => {
      taken.push(pending.map(({ eventId }) => eventId));
      return 'spooled';
    },
    ...options,
  });
  return { spools, taken };
}

describe('a node that restarts under another name', () => {
  it('delivers the orphaned events in order, including dead letters, and deletes the old folder', async (t) => {
    const base = tempFolder(t);
    const rejecting = await startReceiver(t, reject(410));
    const receiver = await startReceiver(t, reject(500));
    const first = startWebhooks(t, testSettings(), { store: await openStore(base, 'old@host'), dispatcher: { delay: () => 1_000_000 } });
    first.webhooks.publish(roomEvent('dead', 1), rejecting.url);
    await untilPending(first.webhooks);
    for (const seq of [1, 2, 3]) first.webhooks.publish(roomEvent('one', seq), receiver.url);
    // Its single attempt must not arrive later, when the others are counted.
    await receiver.until(1);
    await first.webhooks.close(0);
    receiver.answer(accept);
    receiver.received.length = 0;
    const { webhooks } = startWebhooks(t, testSettings(), { store: await openStore(base, 'new@host') });
    await receiver.until(3);
    assert.deepEqual(fieldsOf(receiver.received, 'id'), ['one-1', 'one-2', 'one-3']);
    await eventually('the old folder is deleted', () => !existsSync(join(base, 'old@host')), { every: 2 });
    assert.deepEqual(fieldsOf(webhooks.deadLetters({}, 10), 'eventId'), ['dead-1']);
    assert.deepEqual(readdirSync(base), ['new@host']);
  });
});

describe('a spool of another node', () => {
  it('is left alone while that node lives, and taken over after it ended', async (t) => {
    const base = await left(t, 'live@host');
    const live = await SpoolFolder.take(base, 'live@host');
    const { spools, taken } = scan(base);
    await spools.scan();
    assert.deepEqual(taken, []);
    await live.close();
    await spools.scan();
    assert.deepEqual(taken, [['one-1', 'one-2']]);
    assert.equal(existsSync(join(base, 'live@host')), false);
    await spools.scan();
    assert.equal(taken.length, 1);
    await spools.close();
  });

  it('on another host is taken over only after three minutes without heartbeat', async (t) => {
    const base = tempFolder(t);
    let now = 0;
    const { spools, taken } = scan(base, { now: () => now });
    const { path, touch } = elsewhere(base, 'far@host');
    for (let second = 0; second < 600; second += 30) {
      now = second * 1000;
      touch(1_000_000 + second);
      await spools.scan();
    }
    now += 179_000;
    await spools.scan();
    assert.equal(taken.length, 0);
    now += 1_000;
    await spools.scan();
    assert.equal(taken.length, 1);
    assert.equal(existsSync(path), false);
    await spools.close();
  });

  it('is not deleted if its node restarts on another host meanwhile', async (t) => {
    const base = await left(t, 'old@host');
    const { spools } = scan(base, {
      take: async () => {
        elsewhere(base, 'old@host');
        return 'spooled';
      },
    });
    await spools.scan();
    assert.ok(readdirSync(join(base, 'old@host')).some((name) => name.endsWith('.seg')));
    await spools.close();
  });

  it('is kept if its deliveries are in memory only, and taken over once', async (t) => {
    const base = await left(t, 'old@host');
    let times = 0;
    const { spools } = scan(base, {
      take: async () => {
        times += 1;
        return 'memory';
      },
    });
    await spools.scan();
    await spools.scan();
    assert.equal(times, 1);
    assert.equal(await SpoolFolder.tryTake(join(base, 'old@host')), undefined, 'no other process takes it over meanwhile');
    await spools.close();
    const again = scan(base);
    await again.spools.scan();
    assert.deepEqual(again.taken, [['one-1', 'one-2']]);
    await again.spools.close();
  });

  it('that is unreadable does not block others', async (t) => {
    const base = await left(t, 'c@host');
    mkdirSync(join(base, 'a@host', 'dead-letters.jsonl'), { recursive: true });
    writeFileSync(join(base, 'b-file'), '');
    const { spools, taken } = scan(base);
    await spools.scan();
    assert.deepEqual(taken, [['one-1', 'one-2']]);
    assert.ok(existsSync(join(base, 'a@host')));
    await spools.close();
  });
});
