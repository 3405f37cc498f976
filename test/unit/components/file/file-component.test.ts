// File components: options, paths inside of the source folder, and file formats.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ComponentType } from '../../../../api/component/types.ts';
import { ServiceError } from '../../../../api/errors.ts';
import type { VideoCodec } from '../../../../api/room.ts';
import { makeComponentRegistry } from '../../../kit/fakes/component-registry.ts';
import { oggFile, opusPacket } from '../../../kit/media/ogg-file.ts';
import { makeResources } from '../../../kit/processes/resources-folder.ts';

const baseline = Buffer.from([0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1e, 1, 0, 0, 0, 1, 0x68, 9, 0, 0, 0, 1, 0x65, 0x80, 1]);
const high = Buffer.from(baseline.with(5, 0x64).with(6, 0));
const sources = 'file_component_sources';

type Ask = (options: unknown, asked?: { type?: ComponentType; videoCodec?: VideoCodec | null }) => Promise<unknown>;

/** Requests a component; returns its properties, or code and message of the error. */
async function setup(t: TestContext, used: ComponentType[] = ['file', 'sip']): Promise<{ ask: Ask; resources: string }> {
  const resources = await makeResources(t, {
    [`${sources}/a.ogg`]: oggFile([opusPacket(50, 1)]),
    [`${sources}/deep/er/v.h264`]: baseline,
    [`${sources}/high.h264`]: high,
    [`${sources}/text.ogg`]: 'not audio',
    [`${sources}/text.h264`]: 'not video',
    [`${sources}/empty.ogg`]: '',
    [`${sources}/secret.txt`]: 'x',
    'outside.ogg': oggFile([opusPacket(50, 1)]),
  });
  const componentRegistry = makeComponentRegistry(resources, used);
  const ask: Ask = async (options, { type = 'file', videoCodec = null } = {}) => {
    try {
      const asked = options === undefined ? { type } : { type, options: options as Record<string, never> };
      return (await componentRegistry.createSpec(asked, { roomId: 'r', videoCodec })).properties;
    } catch (error) {
      assert.ok(error instanceof ServiceError, String(error));
      return [error.code, error.message];
    }
  };
  return { ask, resources };
}

test('properties are the options with their defaults', async (t) => {
  const { ask } = await setup(t);
  assert.deepEqual(await ask({ filePath: 'a.ogg' }), { filePath: 'a.ogg', framerate: null });
  assert.deepEqual(await ask({ filePath: 'a.ogg', framerate: null }), { filePath: 'a.ogg', framerate: null });
  assert.deepEqual(await ask({ filePath: 'deep/er/v.h264' }), { filePath: 'deep/er/v.h264', framerate: 30 });
  assert.deepEqual(await ask({ filePath: 'deep/er/v.h264', framerate: 120 }), { filePath: 'deep/er/v.h264', framerate: 120 });
});

test('disabled and unknown component types are rejected with their name', async (t) => {
  const { ask } = await setup(t);
  assert.deepEqual(await ask({}, { type: 'hls' }), ['bad_request', 'Components of type hls are disabled on this node']);
  assert.deepEqual(await ask({}, { type: 'sip' }), ['invalid_field', 'Required field registrarCredentials is missing']);
  const none = await setup(t, []);
  assert.deepEqual(await none.ask({ filePath: 'a.ogg' }), ['bad_request', 'Components of type file are disabled on this node']);
});

test('invalid options are rejected with their name', async (t) => {
  const { ask } = await setup(t);
  const rule = 'Expected framerate to be an integer from 1 to 120, got: ';
  for (const [options, message] of [
    [undefined, 'Required field filePath is missing'],
    [{}, 'Required field filePath is missing'],
    [{ filePath: 7 }, 'Expected filePath to be a string, got: 7'],
    [{ filePath: 'a.ogg', speed: 2 }, 'Unknown field speed'],
    [{ filePath: 'deep/er/v.h264', framerate: 0 }, `${rule}0`],
    [{ filePath: 'deep/er/v.h264', framerate: 121 }, `${rule}121`],
    [{ filePath: 'deep/er/v.h264', framerate: 29.97 }, `${rule}29.97`],
    [{ filePath: 'deep/er/v.h264', framerate: '30' }, `${rule}"30"`],
  ] as const)
    assert.deepEqual(await ask(options), ['invalid_field', message]);
  assert.deepEqual(await ask({ filePath: 'a.ogg', framerate: 30 }), ['bad_request', 'framerate is not allowed for audio files']);
});

test('paths out of the folder are rejected, also through links; links inside of it are followed', async (t) => {
  const { ask, resources } = await setup(t);
  const folder = join(resources, sources);
  await symlink('../outside.ogg', join(folder, 'link.ogg'));
  await symlink(resources, join(folder, 'up'));
  await symlink('a.ogg', join(folder, 'inside.ogg'));
  const refused = ['bad_request', 'Invalid file path: it has to stay inside file_component_sources'];
  for (const filePath of [
    '../outside.ogg',
    'deep/../../outside.ogg',
    'deep/../a.ogg',
    join(folder, 'a.ogg'),
    '/etc/passwd.ogg',
    './a.ogg',
    'deep//er/v.h264',
    'a.ogg\0.ogg',
    '..\\outside.ogg',
    'link.ogg',
    'up/outside.ogg',
    'a.ogg/',
  ])
    assert.deepEqual(await ask({ filePath }), refused, JSON.stringify(filePath));
  assert.deepEqual(await ask({ filePath: 'inside.ogg' }), { filePath: 'inside.ogg', framerate: null });
});

test('a missing path, or one that is not a regular file, is not found', async (t) => {
  const { ask, resources } = await setup(t);
  const folder = join(resources, sources);
  await mkdir(join(folder, 'folder.ogg'));
  execFileSync('mkfifo', [join(folder, 'pipe.ogg')]);
  await symlink('loop.ogg', join(folder, 'loop.ogg'));
  for (const filePath of ['none.ogg', 'none/none.ogg', 'a.ogg/b.ogg', 'folder.ogg', 'pipe.ogg', 'loop.ogg', `${'x'.repeat(300)}.ogg`])
    assert.deepEqual(await ask({ filePath }), ['not_found', 'File not found'], filePath);
});

test('file types other than .ogg and .h264 are rejected, whether the file exists or not', async (t) => {
  const { ask } = await setup(t);
  for (const filePath of ['secret.txt', 'none.mp4', 'a.ogg.txt', 'A.OGG', 'ogg', '.ogg'])
    assert.deepEqual(await ask({ filePath }), [
      'bad_request',
      `Unsupported file type: only .ogg and .h264 are supported, got: ${JSON.stringify(filePath)}`,
    ]);
});

test('a file whose content does not match its extension is rejected', async (t) => {
  const { ask } = await setup(t);
  for (const filePath of ['text.ogg', 'empty.ogg']) {
    assert.deepEqual(await ask({ filePath }), ['bad_request', 'Unsupported file: no Opus stream in an Ogg container']);
  }
  assert.deepEqual(await ask({ filePath: 'text.h264' }), ['bad_request', 'Unsupported file: no H.264 with start codes (Annex B)']);
  assert.deepEqual(await ask({ filePath: 'high.h264' }), [
    'bad_request',
    'Unsupported file: its profile-level-id 64001e is not the constrained baseline profile',
  ]);
});

test('video requires a room that allows H.264', async (t) => {
  const { ask } = await setup(t);
  const video = { filePath: 'deep/er/v.h264' };
  assert.deepEqual(await ask(video, { videoCodec: 'vp8' }), ['bad_request', 'Incompatible video codec enforced in room r']);
  assert.deepEqual(await ask(video, { videoCodec: 'h264' }), { ...video, framerate: 30 });
  assert.deepEqual(await ask({ filePath: 'a.ogg' }, { videoCodec: 'vp8' }), { filePath: 'a.ogg', framerate: null });
});
