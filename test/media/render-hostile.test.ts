// Rendering of unusual, damaged or malicious recordings, without any playable track, interrupted, and without node-av.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { ratioOf } from '../kit/media/composed-stream.ts';
import { ffmpeg } from '../kit/media/ffmpeg.ts';
import { assertColor, assertNear } from '../kit/media/recorded-file.ts';
import { runCommand } from '../kit/processes/command.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { colours, command, encode, makeRecording, plainVideo, rendered, root, watch } from './render-kit.ts';

test('frames with changing sizes, uneven times and separate parameter sets are shown, and those of one peer share a cell', async (t) => {
  const { folder } = await makeRecording(t, [
    { file: 'sizes.webm' },
    { file: 'uneven.mkv', encoding: 'h264', origin: { peerId: 'q' }, offset: 500 },
    { file: 'screen.webm', origin: { peerId: 'q' }, offset: 1500 },
  ]);
  await encode(join(folder, 'one.webm'), 'vp8', plainVideo('red', '320x180', 1));
  await encode(join(folder, 'two.webm'), 'vp8', plainVideo('blue', '180x320', 2));
  await writeFile(join(folder, 'list'), 'file one.webm\nfile two.webm\n');
  const list = ['-f', 'concat', '-i', join(folder, 'list'), '-c', 'copy'];
  await ffmpeg([...list, join(folder, 'sizes.webm')]);
  // Two frames a second, with a gap of a second and a half.
  const uneven = ['-vf', "select='eq(n,0)+eq(n,15)+eq(n,60)+eq(n,75)'", '-vsync', 'vfr'];
  await encode(join(folder, 'uneven.mkv'), 'h264', plainVideo('green', '320x180', 3), uneven);
  await encode(join(folder, 'screen.webm'), 'vp8', plainVideo('red', '320x180', 1));
  const { path, duration, problems } = await rendered(t, folder);
  assert.deepEqual(problems, []);
  assertNear(duration, 3500, 100, 'the length');
  const { at } = await watch(path, duration);
  assertColor(at(300)?.at(0.5, 0.5), colours.red);
  assertColor(at(800)?.at(0.25, 0.5), colours.red);
  assertColor(at(800)?.at(0.75, 0.5), colours.green);
  // The tall frame has black bars at its sides.
  assertColor(at(1300)?.at(0.25, 0.5), colours.blue);
  assertColor(at(1300)?.at(0.08, 0.5), colours.black);
  // Two frames of one peer, one above the other or side by side.
  const cell = [at(2000)?.at(0.62, 0.5), at(2000)?.at(0.88, 0.5)];
  assertColor(cell[0], colours.green);
  assertColor(cell[1], colours.red);
  assertColor(at(2700)?.at(0.75, 0.5), colours.green);
});

test('damaged, missing or unsafe tracks are omitted with a message, and the others are rendered', async (t) => {
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
    { file: null, problem: 'Tracks with codec h265 cannot be recorded' },
    { file: 'good.webm', offset: 1e15 },
    ...names.map((file) => ({ file })),
  ]);
  await encode(join(folder, 'good.webm'), 'vp8', plainVideo('red', '320x180', 2));
  await encode(join(folder, 'tone.webm'), 'opus', 'sine=frequency=500:duration=2');
  const good = await readFile(join(folder, 'good.webm'));
  await writeFile(join(resources, 'recordings', 'outside.webm'), good);
  await symlink(join(resources, 'recordings', 'outside.webm'), join(folder, 'link.webm'));
  await writeFile(join(folder, 'noise.webm'), Buffer.alloc(20_000, 'noise'));
  await writeFile(join(folder, 'empty.webm'), '');
  await mkdir(join(folder, 'folder.webm'));
  await runCommand(['mkfifo', join(folder, 'pipe.webm')]);
  const broken = Buffer.from(good);
  broken.fill(0xff, Math.floor(broken.length * 0.5), Math.floor(broken.length * 0.8));
  await writeFile(join(folder, 'broken.webm'), broken);

  const { path, duration, problems } = await rendered(t, folder);
  const text = problems.join('\n');
  for (const expected of [
    /^Track "t4" was omitted: it has no file \("Tracks with codec h265 cannot be recorded"\)$/m,
    /^Track "t5" was omitted: its start time is outside of the recording$/m,
    /^tone\.webm was omitted: The file has opus, the report video$/m,
    /^noise\.webm was omitted: The file is damaged at its start, or not a recording$/m,
    /^empty\.webm was omitted: The file is damaged at its start, or not a recording$/m,
    /^missing\.webm was omitted: The file does not exist$/m,
    /^Track "t9" was omitted: its file name is invalid$/m,
    /^Track "t10" was omitted: its file name is invalid$/m,
    /^Track "t11" was omitted: its file name is invalid$/m,
    /^link\.webm was omitted: Could not open the file \(ELOOP\)$/m,
    /^folder\.webm was omitted: Not a regular file$/m,
    /^pipe\.webm was omitted: Not a regular file$/m,
  ]) {
    assert.match(text, expected);
  }
  const { at, heard } = await watch(path, duration);
  assertNear(duration, 2000, 250, 'the length');
  assertColor(at(100)?.at(0.5, 0.5), colours.red);
  assertColor(at(500)?.at(0.25, 0.5), colours.red);
  assert.ok(ratioOf(heard(200, 1800), 500) > 0.97, 'the tone');
});

test('if nothing can be rendered, there is a message, an exit code and no file', async (t) => {
  const { folder, resources } = await makeRecording(t, [{ file: 'noise.webm' }]);
  await writeFile(join(folder, 'noise.webm'), Buffer.alloc(20_000, 'noise'));
  const out = await makeResources(t);
  const output = join(out, 'x.mp4');
  const outputOf = async (args: readonly string[]) => {
    const { code, lines } = await command(args);
    return [code, lines.find((line) => !line.includes('was omitted')) ?? ''] as const;
  };
  const [code, line] = await outputOf([folder, '--output', output]);
  assert.deepEqual([code, line], [1, 'The recording has no playable track']);
  for (const [args, expected] of [
    [[], 'Expected exactly one recording'],
    [['none', '--resources', resources], /^Recording none does not exist/],
    [['../..', '--resources', resources], /^Recording \.\.\/\.\. does not exist/],
    [[folder, '--output', 'x.webm'], /^Expected output to end with \.mp4/],
    [[folder, '--width', '641'], /^Expected width to be an integer from 16 to 3840, even/],
    [[folder, '--framerate', 'x'], /^Expected framerate to be/],
    [[folder, '--layout', 'x'], /^Expected layout to be one of grid, speaker, single/],
    [[folder, '--other', 'x'], /--other/],
  ] as const) {
    const [usage, message] = await outputOf(args);
    assert.equal(usage, 2, args.join(' '));
    assert.match(message, expected instanceof RegExp ? expected : new RegExp(expected));
  }
  for (const [content, expected] of [
    ['{', 'report.json is not valid JSON'],
    ['{"id":"x"}', /^report\.json is not a valid report: /],
    [await readFile(join((await makeRecording(t, [], { type: 'hls' })).folder, 'report.json')), /^This is a persistent stream/],
    [await readFile(join((await makeRecording(t, [])).folder, 'report.json')), 'The recording has no playable track'],
  ] as const) {
    await writeFile(join(folder, 'report.json'), content);
    const [end, message] = await outputOf([folder, '--output', output]);
    assert.equal(end, 1);
    assert.match(message, expected instanceof RegExp ? expected : new RegExp(expected));
  }
  assert.deepEqual(await readdir(out), []);
});

test('SIGINT ends rendering at once without leaving a file or process', async (t) => {
  // An hour without participants takes a while.
  const { folder } = await makeRecording(t, [{ file: 'good.webm' }, { file: 'good.webm', offset: 3_600_000 }]);
  await encode(join(folder, 'good.webm'), 'vp8', plainVideo('red', '320x180', 1));
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
  const { stdout } = await runCommand(['pgrep', '-P', String(child.pid)]);
  child.kill('SIGINT');
  const [code] = await closed;
  assert.deepEqual([code, lines.at(-1)], [130, 'Rendering interrupted; partial output deleted']);
  assert.deepEqual(await readdir(out), []);
  for (const pid of stdout.split('\n').filter(Boolean).map(Number)) assert.throws(() => process.kill(pid, 0), 'a process is still running');
});

test('without node-av there is one error message', async (t) => {
  const { folder } = await makeRecording(t, []);
  const without = await makeResources(t);
  await mkdir(join(without, 'node_modules'));
  for (const name of ['api', 'node', 'package.json']) await symlink(join(root, name), join(without, name));
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name !== 'node-av') await symlink(join(root, 'node_modules', name), join(without, 'node_modules', name));
  }
  const before = ['--preserve-symlinks', '--preserve-symlinks-main'];
  const { code, lines } = await command([folder], { cwd: without, before, script: join(without, 'node/render.ts') });
  assert.deepEqual([code, lines], [1, ['Rendering requires the package node-av, which is not installed']]);
});
