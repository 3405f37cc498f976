// Webhooks with a store: killed processes, dead letters and replay, and folders of several nodes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { DeadLetters } from '../../../../node/events/webhooks/dead-letters.ts';
import { SpoolFolder } from '../../../../node/events/webhooks/spool-folder.ts';
import { WebhookStore } from '../../../../node/events/webhooks/store.ts';
import { eventually } from '../../../kit/eventually.ts';
import { openStore, roomEvent, startWebhooks, testSettings, untilPending } from '../../../kit/fakes/webhooks.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { accept, reject, startReceiver } from '../../../kit/network/webhook-receiver.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

const program = join(import.meta.dirname, '../../../kit/processes/spooling-process.ts');

/** Publishes events through a spool and is killed while it does. @returns the number of the last event that it reported, at least `count` */
async function killedSpool(base: string, url: string, count: number): Promise<number> {
  const child = spawn(process.execPath, [program, base, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said.split('\n').length > count) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return Number(said.trim().split('\n').at(-1));
}

test('a process killed with -9 loses nothing: the next run delivers the rest in order, and duplicates have the same id', async (t) => {
  const base = tempFolder(t);
  const receiver = await startReceiver(t);
  const published = await killedSpool(base, receiver.url, 100);
  const { webhooks } = startWebhooks(t, testSettings(), { store: await openStore(base) });
  await untilPending(webhooks);
  const bodies = new Map<string, string>();
  for (const { id, body } of receiver.received) {
    assert.equal(bodies.get(id) ?? body, body, 'the same id with the same body');
    bodies.set(id, body);
  }
  // The killed process may have spooled one more than it could report.
  const expected = Array.from({ length: bodies.size }, (_, index) => `one-${index + 1}`);
  assert.deepEqual([...bodies.keys()], expected);
  assert.ok(bodies.size >= published);
});

describe('dead letters', () => {
  it('are kept in a file, listed newest first, and delivered again on demand', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(410));
    const { webhooks } = startWebhooks(t, testSettings(), { store: await openStore(base) });
    for (const seq of [1, 2]) webhooks.publish(roomEvent('one', seq), receiver.url);
    webhooks.publish(roomEvent('two', 1), receiver.url);
    await untilPending(webhooks);
    assert.deepEqual(fieldsOf(webhooks.deadLetters({ roomId: 'one' }, 10), 'eventId', 'reason'), [
      ['one-2', 'the receiver responded with 410'],
      ['one-1', 'the receiver responded with 410'],
    ]);
    assert.equal(webhooks.deadLetters({}, 1).length, 1);
    await webhooks.close(0);
    receiver.answer(accept);
    receiver.received.length = 0;
    const again = startWebhooks(t, testSettings(), { store: await openStore(base) }).webhooks;
    assert.equal(again.replay({ roomId: 'one' }), 2);
    await untilPending(again);
    assert.deepEqual(fieldsOf(receiver.received, 'id'), ['one-1', 'one-2']);
    assert.deepEqual(fieldsOf(again.deadLetters({}, 10), 'eventId'), ['two-1']);
  });

  it('are limited: the oldest are dropped', (t) => {
    const folder = tempFolder(t);
    const letters = new DeadLetters(folder, { log: silentLog(), maxBytes: 3_000 });
    for (let n = 1; n <= 100; n += 1)
      letters.add(
        { n, url: 'http://hooks.example/', roomId: 'one', incarnation: 'i', eventId: `e${n}`, at: 0, body: '{}', attempts: 1 },
        'a reason',
      );
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    assert.ok(bytes <= 6_000);
    assert.equal(letters.list({}, 1)[0]?.eventId, 'e100');
  });

  it('of one room do not displace those of others, which lose their oldest first', (t) => {
    const letters = new DeadLetters(tempFolder(t), { log: silentLog(), maxBytes: 3_000 });
    const add = (roomId: string, n: number) =>
      letters.add(
        { n, url: 'http://hooks.example/', roomId, incarnation: 'i', eventId: `${roomId}${n}`, at: 0, body: '{}', attempts: 1 },
        '"roomId":"x"',
      );
    for (let n = 1; n <= 3; n += 1) add('quiet', n);
    for (let n = 1; n <= 1_000; n += 1) add(n % 2 === 0 ? 'gre"edy' : 'loud', n);
    const idsOf = (roomId: string) => letters.list({ roomId }, 1_000).map(({ eventId }) => eventId);
    assert.deepEqual(idsOf('quiet'), ['quiet3', 'quiet2', 'quiet1']);
    const [greedy, loud] = [idsOf('gre"edy'), idsOf('loud')];
    assert.deepEqual([greedy[0], loud[0]], ['gre"edy1000', 'loud999']);
    assert.ok(greedy.length > 3 && Math.abs(greedy.length - loud.length) <= 2, `${greedy.length} and ${loud.length}`);
  });
});

describe('the shutdown of a node', () => {
  it('tries pending deliveries once more, keeps failed ones, and the next run delivers them', async (t) => {
    const base = tempFolder(t);
    const receiver = await startReceiver(t, reject(500));
    const first = startWebhooks(t, testSettings(), { store: await openStore(base), dispatcher: { delay: () => 1_000_000 } });
    for (const seq of [1, 2]) first.webhooks.publish(roomEvent('one', seq), receiver.url);
    await eventually('an attempt has failed', () => first.webhooks.counters().retries > 0, { every: 2 });
    const end = first.webhooks.close(3_000);
    await receiver.until(2);
    await end;
    assert.match(String(first.of('warn').at(-1)?.msg), /were not delivered before shutdown/);
    receiver.answer(accept);
    const second = startWebhooks(t, testSettings(), { store: await openStore(base) });
    await untilPending(second.webhooks);
    assert.deepEqual(fieldsOf(receiver.received.slice(-2), 'id'), ['one-1', 'one-2']);
  });
});

describe('the folder of a spool', () => {
  it('belongs to one running node, and a second one of the same name gets another folder', async (t) => {
    const base = tempFolder(t);
    const first = await SpoolFolder.take(base, 'node@[::1]/x');
    const second = await SpoolFolder.take(base, 'node@[::1]/x');
    assert.deepEqual([first.path, second.path], [join(base, 'node@___1__x'), join(base, 'node@___1__x-2')]);
    await first.close();
    const third = await SpoolFolder.take(base, 'node@[::1]/x');
    assert.equal(third.path, first.path);
    await Promise.all([second.close(), third.close()]);
  });

  it('that is not usable is logged, and webhooks continue in memory', async (t) => {
    const file = join(tempFolder(t), 'file');
    writeFileSync(file, '');
    const { log, of } = recordedLog();
    assert.equal(await WebhookStore.open({ log, base: file, name: 'node@host' }), undefined);
    assert.match(String(of('error')[0]?.msg), /delivering from memory/);
  });
});
