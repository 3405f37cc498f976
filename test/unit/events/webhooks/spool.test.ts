// Webhook spool on a real disk: recovery after a kill, damaged ends, compaction, and a full disk.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Delivery } from '../../../../node/events/webhooks/delivery.ts';
import { Spool, type SpoolOptions } from '../../../../node/events/webhooks/spool.ts';
import { eventually } from '../../../kit/eventually.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

function open(t: TestContext, folder: string, options: Partial<SpoolOptions> = {}) {
  const opened = Spool.open(folder, { log: silentLog(), ...options });
  t.after(() => opened.spool.close());
  return opened;
}

const numbers = (pending: readonly Delivery[]) => pending.map(({ n }) => n);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

function delivery(n: number, body = `{"n":${n}}`): Delivery {
  return { n, url: 'http://hooks.example/', roomId: 'one', incarnation: 'i', eventId: `event-${n}`, at: 5, body, attempts: 0 };
}

function segments(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.seg'))
    .map((name) => join(folder, name))
    .sort();
}

describe('the webhook spool', () => {
  it('returns pending deliveries completely and in order without having been closed', (t) => {
    const folder = tempFolder(t);
    const { spool } = open(t, folder);
    for (const n of range(1, 5)) spool.add(delivery(n));
    const { pending, last } = open(t, folder);
    assert.deepEqual(
      pending,
      range(1, 5).map((n) => delivery(n)),
    );
    assert.equal(last, 5);
  });

  it('does not return finished deliveries', async (t) => {
    const folder = tempFolder(t);
    const { spool } = open(t, folder);
    for (const n of range(1, 5)) spool.add(delivery(n));
    for (const n of [1, 3, 5]) spool.done(n);
    await spool.close();
    const { pending, last } = open(t, folder);
    assert.deepEqual(numbers(pending), [2, 4]);
    assert.equal(last, 5);
  });

  for (const [how, damage] of [
    ['cut', (path: string) => truncateSync(path, statSync(path).size - 3)],
    [
      'changed',
      (path: string) => {
        const bytes = readFileSync(path);
        bytes[bytes.length - 4] = (bytes[bytes.length - 4] ?? 0) ^ 1;
        writeFileSync(path, bytes);
      },
    ],
    ['followed by rubbish', (path: string) => appendFileSync(path, Buffer.alloc(100, 0xff))],
    ['followed by zeros', (path: string) => appendFileSync(path, Buffer.alloc(5_000))],
  ] as const) {
    it(`reads everything before an end that is ${how}, and logs it`, (t) => {
      const folder = tempFolder(t);
      const { spool } = open(t, folder);
      for (const n of range(1, 3)) spool.add(delivery(n));
      damage(segments(folder)[0] ?? '');
      const { log, of } = recordedLog();
      const again = open(t, folder, { log });
      assert.deepEqual(numbers(again.pending), how.startsWith('followed') ? [1, 2, 3] : [1, 2]);
      assert.equal(of('warn').length, 1);
      again.spool.add(delivery(4));
      assert.equal(numbers(open(t, folder).pending).at(-1), 4);
    });
  }

  it('deletes segments without pending deliveries, and copies pending ones out of the oldest', async (t) => {
    const folder = tempFolder(t);
    const { spool } = open(t, folder, { segmentBytes: 10_000 });
    const body = 'x'.repeat(500);
    for (const n of range(1, 5_000)) {
      spool.add(delivery(n, body));
      // One of a hundred stays pending.
      if (n % 100 !== 0) spool.done(n);
    }
    const waiting = range(1, 50).map((hundred) => hundred * 100);
    const onDisk = () => segments(folder).reduce((sum, path) => sum + statSync(path).size, 0);
    assert.ok(onDisk() < 120_000, `${onDisk()} bytes for ${50 * 600}`);
    await spool.close();
    const again = open(t, folder);
    assert.deepEqual(numbers(again.pending), waiting);
    for (const n of waiting) again.spool.done(n);
    await again.spool.close();
    assert.deepEqual(numbers(open(t, folder).pending), []);
  });

  it('continues with a full disk: logs it once, counts, and writes the missed deliveries once there is space again', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('mounting a tmpfs needs root');
    const folder = tempFolder(t);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'pipe' });
    } catch (error) {
      return t.skip(`cannot mount a tmpfs: ${String(error)}`);
    }
    const { log, of } = recordedLog();
    const { spool } = Spool.open(folder, { log, retryDelay: 20 });
    try {
      const filler = join(folder, 'filler');
      writeFileSync(filler, Buffer.alloc(40 * 1024));
      for (const n of range(1, 100)) spool.add(delivery(n, 'x'.repeat(300)));
      assert.ok(spool.errors > 0);
      assert.match(JSON.stringify(of('error')[0]?.err), /ENOSPC/);
      assert.equal(of('error').length, 1);
      const before = Spool.open(folder, { log: silentLog() });
      assert.ok(before.pending.length > 0 && before.pending.length < 100, 'deliveries written before are complete');
      await before.spool.close();
      rmSync(filler);
      await eventually('all deliveries are written', () => {
        const isLogged = of('info').some(({ msg }) => msg.includes('writable again'));
        return isLogged && Spool.open(folder, { log: silentLog() }).pending.length === 100;
      });
      assert.deepEqual(numbers(Spool.open(folder, { log: silentLog() }).pending), range(1, 100));
    } finally {
      await spool.close();
      execFileSync('umount', [folder]);
    }
  });
});
