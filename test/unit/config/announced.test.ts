// Announced addresses: known at start, or from a file that is written later.
import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { AnnouncedAddresses } from '../../../node/config/announced.ts';
import { testSystem } from '../../kit/fakes/config.ts';

const times = { settle: 5, poll: 60_000 };
const { resolve } = testSystem();

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'config-announced-'));
});
after(() => rm(folder, { recursive: true }));

const next = (announced: AnnouncedAddresses) => new Promise<readonly string[]>((done) => announced.onChange(done));

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

describe('AnnouncedAddresses', () => {
  it('is ready immediately with configured addresses', async () => {
    const announced = new AnnouncedAddresses({ announced: { addresses: ['192.0.2.1'] }, listenIp: '0.0.0.0' }, resolve);
    await announced.watch(times);
    assert.deepEqual([announced.ready, announced.current], [true, ['192.0.2.1']]);
    await announced.close();
  });

  it('is ready when its file has content, and follows it', async () => {
    const file = join(folder, 'address');
    await writeFile(file, '\n');
    const announced = new AnnouncedAddresses({ announced: { file }, listenIp: '0.0.0.0' }, resolve);
    await announced.watch(times);
    assert.deepEqual([announced.ready, announced.current, announced.error], [false, [], null]);
    const first = next(announced);
    await replace(file, '192.0.2.1 known.example\n');
    assert.deepEqual(await first, ['192.0.2.1', '192.0.2.7']);
    assert.equal(announced.ready, true);
    const second = next(announced);
    await replace(file, '192.0.2.2');
    assert.deepEqual(await second, ['192.0.2.2']);
    await announced.close();
  });

  it('waits for a file that does not exist yet', async () => {
    const file = join(folder, 'later');
    const announced = new AnnouncedAddresses({ announced: { file }, listenIp: '::' }, resolve);
    await announced.watch(times);
    assert.equal(announced.ready, false);
    const first = next(announced);
    await writeFile(file, 'known.example');
    assert.deepEqual(await first, ['2001:db8::7']);
    await announced.close();
  });

  for (const [what, text, message] of [
    ['is no address', 'http://x', /to hold at most 8 IP addresses or host names/],
    ['is not known to DNS', 'gone.example', /Expected DNS to resolve/],
  ] as const) {
    it(`keeps the last valid address if the new content ${what}`, async () => {
      const file = join(folder, 'wrong');
      await writeFile(file, text);
      const announced = new AnnouncedAddresses({ announced: { file }, listenIp: '0.0.0.0' }, resolve);
      await announced.watch(times);
      assert.match(announced.error ?? '', message);
      assert.equal(announced.ready, false);
      const good = next(announced);
      await replace(file, '192.0.2.1');
      await good;
      assert.deepEqual([announced.current, announced.error], [['192.0.2.1'], null]);
      await announced.close();
    });
  }
});
