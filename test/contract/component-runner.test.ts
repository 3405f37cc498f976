// Contract of ComponentRunner, for each component type and for the fake used in other tests.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { ComponentOptions } from '../../api/component/component.ts';
import { ServiceError } from '../../api/errors.ts';
import type { ComponentFactory, ComponentHost, ComponentRunner } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { makeComponentRegistry } from '../kit/fakes/component-registry.ts';
import { FakeComponentRegistry, hostFacts } from '../kit/fakes/fake-components.ts';
import { FakeMedia } from '../kit/fakes/fake-media.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { childrenOf } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { silentLog } from '../kit/silent-log.ts';

type Subject = {
  registry: ComponentFactory;
  options: ComponentOptions;
  /** Expected calls of a start to its host. */
  calls: readonly string[];
};

const subjects: readonly (readonly [name: string, open: (t: TestContext) => Promise<Subject>])[] = [
  ['FakeComponentRegistry', async () => ({ registry: new FakeComponentRegistry(), ...file })],
  [
    'ComponentRegistry with a file',
    async (t) => {
      const resources = await makeResources(t);
      await mkdir(join(resources, 'file_component_sources'));
      const packets = Array.from({ length: 500 }, (_, index) => opusPacket(50, index));
      await writeFile(join(resources, 'file_component_sources/tone.ogg'), oggFile(packets));
      return { registry: makeComponentRegistry(resources, ['file']), ...file };
    },
  ],
  [
    'ComponentRegistry with a recording',
    async (t) => ({
      registry: makeComponentRegistry(await makeResources(t), ['recording']),
      options: { type: 'recording' },
      calls: ['connect'],
    }),
  ],
  [
    'ComponentRegistry with a stream',
    async (t) => ({
      registry: makeComponentRegistry(await makeResources(t), ['hls']),
      options: { type: 'hls', options: { width: 320, height: 180 } },
      calls: ['connect'],
    }),
  ],
];

const file = { options: { type: 'file', options: { filePath: 'tone.ogg' } }, calls: ['connect', 'publish audio'] } as const;

/** Types with a component process. */
const forking = ['ComponentRegistry with a recording', 'ComponentRegistry with a stream'];

type Fixture = { runner: ComponentRunner; calls: string[]; called: Promise<void>; expected: readonly string[] };

/** A runner and its calls to the host. `connect` may be delayed or fail. */
async function setup(t: TestContext, { registry, ...subject }: Subject, connect: () => Promise<void> = async () => {}): Promise<Fixture> {
  const calls: string[] = [];
  const { promise: called, resolve } = Promise.withResolvers<void>();
  const connected = async () => {
    calls.push('connect');
    resolve();
    await connect();
    return { ip: '127.0.0.1', port: 9 };
  };
  const media = new FakeMedia().openRoom({
    roomId: 'r',
    videoCodec: null,
    onCrashed: () => {},
    onActiveSpeaker: () => {},
    onAudioLevels: () => {},
  });
  const host: ComponentHost = {
    ...hostFacts,
    log: silentLog(),
    connect: connected,
    publish: async ({ kind }) => {
      calls.push(`publish ${kind}`);
      return 'track';
    },
    openOutput: () => Object.assign(media.openOutput(), { connect: connected }),
    finished: () => calls.push('finished'),
    crashed: (reason) => calls.push(`crashed ${reason}`),
  };
  const prepared = await registry.createSpec(subject.options, { roomId: 'r', videoCodec: null });
  assert.equal(prepared.type, subject.options.type);
  for (const [name, value] of Object.entries(subject.options.options ?? {})) assert.deepEqual(prepared.properties[name], value);
  const runner = prepared.open(host);
  t.after(() => runner.close());
  return { runner, calls, called, expected: subject.calls };
}

for (const [name, open] of subjects) {
  describe(name, () => {
    test('start resolves once the component runs with its tracks published, and close is final and idempotent', async (t) => {
      const { runner, calls, expected } = await setup(t, await open(t));
      await runner.start();
      assert.deepEqual(calls, expected);
      await runner.close();
      await runner.close();
      assert.deepEqual(calls, expected);
    });

    test('a runner that was never started can be closed', async (t) => {
      const { runner, calls } = await setup(t, await open(t));
      await runner.close();
      assert.deepEqual(calls, []);
    });

    test('a failed start rejects with the error of the room and calls nothing else', async (t) => {
      const { runner, calls } = await setup(t, await open(t), async () => {
        throw new ServiceError('unavailable', 'The media of this room has ended');
      });
      await assert.rejects(runner.start(), { code: 'unavailable' });
      await runner.close();
      assert.deepEqual(calls, ['connect']);
    });

    test('close during start cleans up without later calls', async (t) => {
      const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
      const { runner, calls, called } = await setup(t, await open(t), () => gate);
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

    const dies = 'a process that exits while the room connects it fails the start';
    if (forking.includes(name))
      test(dies, async (t) => {
        const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
        const before = await childrenOf(process.pid);
        const { runner, calls, called } = await setup(t, await open(t), () => gate);
        const started = assert.rejects(runner.start(), { code: 'unavailable', message: /^Could not start / });
        await called;
        const [pid] = (await childrenOf(process.pid)).filter((each) => !before.includes(each));
        assert.ok(pid !== undefined);
        process.kill(pid, 'SIGKILL');
        await eventually('the process has ended', async () => !(await childrenOf(process.pid)).includes(pid), { every: 10 });
        goOn();
        await started;
        await runner.close();
        assert.deepEqual(calls, ['connect']);
      });

    test('other types are rejected with a message', async (t) => {
      const { registry } = await open(t);
      await assert.rejects(registry.createSpec({ type: 'sip' }, { roomId: 'r', videoCodec: null }), {
        code: 'bad_request',
        message: 'Components of type sip are disabled on this node',
      });
    });
  });
}
