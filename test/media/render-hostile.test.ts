// Rendering of recordings that are odd, broken or made by somebody who means harm, of none at all, interrupted, and without node-av.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ratioOf } from '../kit/media/composed-stream.ts';
import { assertColor, assertNear } from '../kit/media/recorded-file.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { colours, command, encode, makeRecording, picture, rendered, root, watch } from './render-kit.ts';

const run = promisify(execFile);

test('pictures that change their size, that come unevenly, and with parameter sets apart are shown; those of one peer share a cell', async (t) => {
  const { folder } = await makeRecording(t, [
    { file: 'sizes.webm' },
    { file: 'uneven.mkv', encoding: 'h264', origin: { peerId: 'q' }, offset: 500 },
    { file: 'screen.webm', origin: { peerId: 'q' }, offset: 1500 },
  ]);
  await encode(join(folder, 'one.webm'), 'vp8', picture('red', '320x180', 1));
  await encode(join(folder, 'two.webm'), 'vp8', picture('blue', '180x320', 2));
  await writeFile(join(folder, 'list'), 'file one.webm\nfile two.webm\n');
  const list = ['-f', 'concat', '-i', join(folder, 'list'), '-c', 'copy'];
  await run('ffmpeg', ['-v', 'error', '-nostdin', ...list, join(folder, 'sizes.webm')]);
  // Two pictures a second, with a hole of a second and a half.
  const uneven = ['-vf', "select='eq(n,0)+eq(n,15)+eq(n,60)+eq(n,75)'", '-vsync', 'vfr'];
  await encode(join(folder, 'uneven.mkv'), 'h264', picture('green', '320x180', 3), uneven);
  await encode(join(folder, 'screen.webm'), 'vp8', picture('red', '320x180', 1));
  const { path, duration, problems } = await rendered(t, folder);
  assert.deepEqual(problems, []);
  assertNear(duration, 3500, 100, 'the length');
  const { at } = await watch(path, duration);
  assertColor(at(300)?.at(0.5, 0.5), colours.red);
  assertColor(at(800)?.at(0.25, 0.5), colours.red);
  assertColor(at(800)?.at(0.75, 0.5), colours.green);
  // The tall picture has black beside it.
  assertColor(at(1300)?.at(0.25, 0.5), colours.blue);
  assertColor(at(1300)?.at(0.08, 0.5), colours.black);
  // Two pictures of one peer, one above the other or side by side.
  const cell = [at(2000)?.at(0.62, 0.5), at(2000)?.at(0.88, 0.5)];
  assertColor(cell[0], colours.green);
  assertColor(cell[1], colours.red);
  assertColor(at(2700)?.at(0.75, 0.5), colours.green);
});

test('what is broken, missing or leads elsewhere is left out with a sentence; the rest is rendered', async (t) => {
  const names = [
    'noise.webm',
    'empty.webm',
    'missing.webm',
    '../outside.webm',
    '/etc/passwd',
    '.hidden',
    'link.webm',
    'folder.webm',
    'pipe.webm',
  ];
  const { folder, resources } = await makeRecording(t, [
    { file: 'good.webm' },
    { file: 'tone.webm', type: 'audio', encoding: 'opus', origin: { peerId: 'p0' } },
    { file: 'broken.webm', offset: 200 },
    { file: 'tone.webm' },
    { file: null, problem: 'Tracks of the codec h265 cannot be recorded' },
    { file: 'good.webm', offset: 1e15 },
    ...names.map((file) => ({ file })),
  ]);
  await encode(join(folder, 'good.webm'), 'vp8', picture('red', '320x180', 2));
  await encode(join(folder, 'tone.webm'), 'opus', 'sine=frequency=500:duration=2');
  const good = await readFile(join(folder, 'good.webm'));
  await writeFile(join(resources, 'recordings', 'outside.webm'), good);
  await symlink(join(resources, 'recordings', 'outside.webm'), join(folder, 'link.webm'));
  await writeFile(join(folder, 'noise.webm'), Buffer.alloc(20_000, 'noise'));
  await writeFile(join(folder, 'empty.webm'), '');
  await mkdir(join(folder, 'folder.webm'));
  await run('mkfifo', [join(folder, 'pipe.webm')]);
  const broken = Buffer.from(good);
  broken.fill(0xff, Math.floor(broken.length * 0.5), Math.floor(broken.length * 0.8));
  await writeFile(join(folder, 'broken.webm'), broken);

  const { path, duration, problems } = await rendered(t, folder);
  const text = problems.join('\n');
  for (const expected of [
    /^Track "t4" is left out: it has no file \("Tracks of the codec h265 cannot be recorded"\)$/m,
    /^Track "t5" is left out: the report says that it began at no time of the recording$/m,
    /^tone\.webm is left out: It holds opus, but the report says video$/m,
    /^noise\.webm is left out: It is damaged from its beginning, or no recording$/m,
    /^empty\.webm is left out: It is damaged from its beginning, or no recording$/m,
    /^missing\.webm is left out: It is not there$/m,
    /^Track "t9" is left out: its file has a name that no recording has$/m,
    /^Track "t10" is left out: its file has a name that no recording has$/m,
    /^Track "t11" is left out: its file has a name that no recording has$/m,
    /^link\.webm is left out: It cannot be opened \(ELOOP\)$/m,
    /^folder\.webm is left out: It is no file$/m,
    /^pipe\.webm is left out: It is no file$/m,
  ]) {
    assert.match(text, expected);
  }
  const { at, heard } = await watch(path, duration);
  assertNear(duration, 2000, 250, 'the length');
  assertColor(at(100)?.at(0.5, 0.5), colours.red);
  assertColor(at(500)?.at(0.25, 0.5), colours.red);
  assert.ok(ratioOf(heard(200, 1800), 500) > 0.97, 'the tone');
});

test('where nothing can be rendered there is a sentence, a code and no file', async (t) => {
  const { folder, resources } = await makeRecording(t, [{ file: 'noise.webm' }]);
  await writeFile(join(folder, 'noise.webm'), Buffer.alloc(20_000, 'noise'));
  const out = await makeResources(t);
  const output = join(out, 'x.mp4');
  const told = async (args: readonly string[]) => {
    const { code, lines } = await command(args);
    return [code, lines.find((line) => !line.includes('is left out')) ?? ''] as const;
  };
  const [code, line] = await told([folder, '--output', output]);
  assert.deepEqual([code, line], [1, 'Nothing of the recording can be played']);
  for (const [args, expected] of [
    [[], 'Expected one recording'],
    [['none', '--resources', resources], /^There is no recording none/],
    [['../..', '--resources', resources], /^There is no recording \.\.\/\.\./],
    [[folder, '--output', 'x.webm'], /^Expected output to end with \.mp4/],
    [[folder, '--width', '641'], /^Expected width to be an integer from 16 to 3840, even/],
    [[folder, '--framerate', 'x'], /^Expected framerate to be/],
    [[folder, '--layout', 'x'], /^Expected layout to be one of grid, speaker, single/],
    [[folder, '--other', 'x'], /--other/],
  ] as const) {
    const [usage, sentence] = await told(args);
    assert.equal(usage, 2, args.join(' '));
    assert.match(sentence, expected instanceof RegExp ? expected : new RegExp(expected));
  }
  for (const [content, expected] of [
    ['{', 'report.json is no JSON'],
    ['{"id":"x"}', /^report\.json is none of a recording: /],
    [await readFile(join((await makeRecording(t, [], { type: 'hls' })).folder, 'report.json')), /^This is a stream that was kept/],
    [await readFile(join((await makeRecording(t, [])).folder, 'report.json')), 'Nothing of the recording can be played'],
  ] as const) {
    await writeFile(join(folder, 'report.json'), content);
    const [end, sentence] = await told([folder, '--output', output]);
    assert.equal(end, 1);
    assert.match(sentence, expected instanceof RegExp ? expected : new RegExp(expected));
  }
  assert.deepEqual(await readdir(out), []);
});

test('SIGINT ends it at once, and nothing of the file is left; nor is any process', async (t) => {
  // An hour without anybody takes a while.
  const { folder } = await makeRecording(t, [{ file: 'good.webm' }, { file: 'good.webm', offset: 3_600_000 }]);
  await encode(join(folder, 'good.webm'), 'vp8', picture('red', '320x180', 1));
  const out = await makeResources(t);
  const child = spawn(process.execPath, [join(root, 'node/render.ts'), folder, '--output', join(out, 'x.mp4')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const closed = once(child, 'close');
  const lines: string[] = [];
  const begun = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    begun.resolve();
  });
  await Promise.race([begun.promise, closed]);
  assert.match((await readdir(out)).join(), /^\.x\.mp4\.\d+\.part$/);
  const { stdout } = await run('pgrep', ['-P', String(child.pid)]);
  child.kill('SIGINT');
  const [code] = await closed;
  assert.deepEqual([code, lines.at(-1)], [130, 'Rendering was interrupted; nothing of it is left']);
  assert.deepEqual(await readdir(out), []);
  for (const pid of stdout.split('\n').filter(Boolean).map(Number)) assert.throws(() => process.kill(pid, 0), 'a process is left');
});

test('without node-av there is one sentence', async (t) => {
  const { folder } = await makeRecording(t, []);
  const without = await makeResources(t);
  await mkdir(join(without, 'node_modules'));
  await symlink(join(root, 'node'), join(without, 'node'));
  await symlink(join(root, 'package.json'), join(without, 'package.json'));
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name !== 'node-av') await symlink(join(root, 'node_modules', name), join(without, 'node_modules', name));
  }
  const before = ['--preserve-symlinks', '--preserve-symlinks-main'];
  const { code, lines } = await command([folder], { cwd: without, before, script: join(without, 'node/render.ts') });
  assert.deepEqual([code, lines], [1, ['Recordings cannot be rendered: the package node-av is not installed']]);
});
