// Orphaned spools of nodes that returned under another name: taken over if unused, left alone if in use.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { silentLog } from '../../../../node/common/log.ts';
import { OrphanedSpools, type OrphanedSpoolsOptions } from '../../../../node/events/webhooks/orphaned-spools.ts';
import { SpoolFolder } from '../../../../node/events/webhooks/spool-folder.ts';
import { WebhookStore } from '../../../../node/events/webhooks/store.ts';
import { eventually } from '../../../kit/eventually.ts';
import { roomEvent, startWebhooks, testSettings, untilPending } from '../../../kit/fakes/webhooks.ts';
import { accept, reject, startReceiver } from '../../../kit/network/webhook-receiver.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

const spoolingProcess = join(import.meta.dirname, '../../../kit/processes/spooling-process.ts');

async function openStore(base: string, name: string): Promise<WebhookStore> {
  const store = await WebhookStore.open({ log: silentLog(), base, name });
  assert.ok(store);
  return store;
}

/** Leaves events 1 and 2 of a room. */
async function leave(t: TestContext, base: string, name: string, url: string): Promise<void> {
  const { webhooks } = startWebhooks(t, testSettings(), { store: await openStore(base, name), dispatcher: { delay: () => 1_000_000 } });
  for (const seq of [1, 2]) webhooks.publish(roomEvent('one', seq), url);
  await webhooks.close(0);
}

/** A folder in use by a node on another host. */
function elsewhere(base: string, name: string): { path: string; touch: (second: number) => void } {
  const path = join(base, name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'dead-letters.jsonl'), '');
  writeFileSync(join(path, 'owner'), 'another machine');
  return { path, touch: (second) => utimesSync(join(path, 'owner'), second, second) };
}

function look(base: string, options: Partial<OrphanedSpoolsOptions> = {}) {
  const taken: string[][] = [];
  const left = new OrphanedSpools({
    log: silentLog(),
    base,
    own: join(base, 'own@host'),
    take: async ({ pending }) => {
      taken.push(pending.map(({ eventId }) => eventId));
      return 'spooled';
    },
    ...options,
  });
  return { left, taken };
}

describe('a node that restarts under another name', () => {
  it('delivers the orphaned events in order, including dead letters, and deletes the old folder', async (t) => {
    const base = tempFolder(t);
    const gone = await startReceiver(t, reject(410));
    const receiver = await startReceiver(t, reject(500));
    const first = startWebhooks(t, testSettings(), { store: await openStore(base, 'old@host'), dispatcher: { delay: () => 1_000_000 } });
    first.webhooks.publish(roomEvent('dead', 1), gone.url);
    await untilPending(first.webhooks);
    for (const seq of [1, 2, 3]) first.webhooks.publish(roomEvent('one', seq), receiver.url);
    // Its single attempt must not arrive later, when the others are counted.
    await receiver.until(1);
    await first.webhooks.close(0);
    receiver.answer(accept);
    receiver.received.length = 0;
    const { webhooks } = startWebhooks(t, testSettings(), { store: await openStore(base, 'new@host') });
    await receiver.until(3);
    assert.deepEqual(
      receiver.received.map(({ id }) => id),
      ['one-1', 'one-2', 'one-3'],
    );
    await eventually('the old folder is deleted', () => !existsSync(join(base, 'old@host')), { every: 2 });
    assert.deepEqual(
      webhooks.deadLetters({}, 10).map(({ eventId }) => eventId),
      ['dead-1'],
    );
    assert.deepEqual(readdirSync(base), ['new@host']);
  });

  it('also after kill -9', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(500));
    const child = spawn(process.execPath, [spoolingProcess, base, receiver.url], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.split('\n').length > 50) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const published = Number(said.trim().split('\n').at(-1));
    receiver.answer(accept);
    startWebhooks(t, testSettings(), { store: await openStore(base, 'renamed@host') });
    await receiver.untilTrue((all) => all.some(({ id }) => id === `one-${published}`));
    const ids = [...new Set(receiver.received.map(({ id }) => id))].slice(0, published);
    assert.deepEqual(
      ids,
      Array.from({ length: published }, (_, index) => `one-${index + 1}`),
    );
  });
});

describe('a spool of another node', () => {
  it('is left alone while that node lives, and taken over after it ended', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(500));
    await leave(t, base, 'live@host', receiver.url);
    const live = await SpoolFolder.take(base, 'live@host');
    const { left, taken } = look(base);
    await left.scan();
    assert.deepEqual(taken, []);
    await live.close();
    await left.scan();
    assert.deepEqual(taken, [['one-1', 'one-2']]);
    assert.equal(existsSync(join(base, 'live@host')), false);
    await left.scan();
    assert.equal(taken.length, 1);
    await left.close();
  });

  it('on another host is taken over only after three minutes without heartbeat', async (t) => {
    const base = tempFolder(t);
    let now = 0;
    const { left, taken } = look(base, { now: () => now });
    const { path, touch } = elsewhere(base, 'far@host');
    for (let second = 0; second < 600; second += 30) {
      now = second * 1000;
      touch(1_000_000 + second);
      await left.scan();
    }
    now += 179_000;
    await left.scan();
    assert.equal(taken.length, 0);
    now += 1_000;
    await left.scan();
    assert.equal(taken.length, 1);
    assert.equal(existsSync(path), false);
    await left.close();
  });

  it('is not deleted if its node restarts on another host meanwhile', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(500));
    await leave(t, base, 'old@host', receiver.url);
    const { left } = look(base, {
      take: async () => {
        elsewhere(base, 'old@host');
        return 'spooled';
      },
    });
    await left.scan();
    assert.ok(readdirSync(join(base, 'old@host')).some((name) => name.endsWith('.seg')));
    await left.close();
  });

  it('is kept if its deliveries are in memory only, and taken over once', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(500));
    await leave(t, base, 'old@host', receiver.url);
    let times = 0;
    const { left } = look(base, {
      take: async () => {
        times += 1;
        return 'memory';
      },
    });
    await left.scan();
    await left.scan();
    assert.equal(times, 1);
    assert.equal(await SpoolFolder.tryTake(join(base, 'old@host')), undefined, 'no other process takes it over meanwhile');
    await left.close();
    const again = look(base);
    await again.left.scan();
    assert.deepEqual(again.taken, [['one-1', 'one-2']]);
    await again.left.close();
  });

  it('that is unreadable does not block others', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(500));
    mkdirSync(join(base, 'a@host', 'dead-letters.jsonl'), { recursive: true });
    writeFileSync(join(base, 'b-file'), '');
    await leave(t, base, 'c@host', receiver.url);
    const { left, taken } = look(base);
    await left.scan();
    assert.deepEqual(taken, [['one-1', 'one-2']]);
    assert.ok(existsSync(join(base, 'a@host')));
    await left.close();
  });
});
