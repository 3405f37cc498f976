// The rules of ComponentRunner that rooms rely on, for the file component and for the fake that stands for it elsewhere.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Kinds } from '../../node/components/kinds.ts';
import { ServiceError } from '../../node/errors.ts';
import { silentLog } from '../../node/log.ts';
import type { ComponentHost, ComponentKinds, ComponentRunner } from '../../node/rooms/ports.ts';
import { FakeKinds } from '../kit/fake-components.ts';
import { oggFile, opusPacket } from '../kit/ogg-file.ts';
import { makeResources } from '../kit/resources-folder.ts';

const kinds: readonly (readonly [name: string, open: (t: TestContext) => Promise<ComponentKinds>])[] = [
  ['FakeKinds', async () => new FakeKinds()],
  [
    'Kinds with a file',
    async (t) => {
      const resources = await makeResources(t);
      await mkdir(join(resources, 'file_component_sources'));
      const packets = Array.from({ length: 500 }, (_, index) => opusPacket(50, index));
      await writeFile(join(resources, 'file_component_sources/tone.ogg'), oggFile(packets));
      return new Kinds({ used: () => ['file'], resources });
    },
  ],
];

type Stage = { runner: ComponentRunner; calls: string[]; called: Promise<void> };

/** A runner and what it asks of its host. `connect` may be held up or fail. */
async function stage(t: TestContext, made: ComponentKinds, connect: () => Promise<void> = async () => {}): Promise<Stage> {
  const calls: string[] = [];
  const { promise: called, resolve } = Promise.withResolvers<void>();
  const host: ComponentHost = {
    log: silentLog(),
    connect: async () => {
      calls.push('connect');
      resolve();
      await connect();
      return { ip: '127.0.0.1', port: 9 };
    },
    publish: async ({ kind }) => {
      calls.push(`publish ${kind}`);
      return 'track';
    },
    finished: () => calls.push('finished'),
    crashed: (reason) => calls.push(`crashed ${reason}`),
  };
  const prepared = await made.prepare({ type: 'file', options: { filePath: 'tone.ogg' } }, { roomId: 'r', videoCodec: null });
  assert.equal(prepared.type, 'file');
  assert.equal(prepared.properties.filePath, 'tone.ogg');
  const runner = prepared.open(host);
  t.after(() => runner.close());
  return { runner, calls, called };
}

for (const [name, open] of kinds) {
  describe(name, () => {
    test('start resolves once the tracks are published, and close ends it for good, twice too', async (t) => {
      const { runner, calls } = await stage(t, await open(t));
      await runner.start();
      assert.deepEqual(calls, ['connect', 'publish audio']);
      await runner.close();
      await runner.close();
      assert.deepEqual(calls, ['connect', 'publish audio']);
    });

    test('what was never started can be closed', async (t) => {
      const { runner, calls } = await stage(t, await open(t));
      await runner.close();
      assert.deepEqual(calls, []);
    });

    test('a start that fails rejects with what the room said and calls nobody', async (t) => {
      const { runner, calls } = await stage(t, await open(t), async () => {
        throw new ServiceError('unavailable', 'The media of this room has ended');
      });
      await assert.rejects(runner.start(), { code: 'unavailable' });
      await runner.close();
      assert.deepEqual(calls, ['connect']);
    });

    test('closing while it starts leaves nothing and calls nobody back later', async (t) => {
      const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
      const { runner, calls, called } = await stage(t, await open(t), () => gate);
      const started = runner.start().catch(() => {});
      await called;
      const closed = runner.close();
      goOn();
      await Promise.all([started, closed]);
      assert.deepEqual(
        calls.filter((call) => /finished|crashed/.test(call)),
        [],
      );
    });

    test('other kinds are refused with a sentence', async (t) => {
      const made = await open(t);
      await assert.rejects(made.prepare({ type: 'hls' }, { roomId: 'r', videoCodec: null }), {
        code: 'bad_request',
        message: 'Components of type hls are disabled on this node',
      });
    });
  });
}
