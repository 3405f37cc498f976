// A recording as one MP4, judged by ffmpeg: who is seen where and when, what is heard, sound beside picture, and what is left of broken ones.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Report, ReportTrack } from '../../node/components/recording/report.ts';
import { render } from '../../node/components/render/render.ts';
import { silentLog } from '../../node/log.ts';
import { apiClient } from '../kit/api-client.ts';
import { looks, packetTimes, probeStreams, samples, share } from '../kit/composed.ts';
import { makeTone, makeVideo } from '../kit/media-files.ts';
import { startNodeProcess } from '../kit/node-process.ts';
import { assertColour, assertNear, beeps } from '../kit/recorded.ts';
import { makeResources } from '../kit/resources-folder.ts';
import { startFlashes } from '../kit/rtp-publisher.ts';
import { apiToken } from '../kit/start-node.ts';
import { recordingStage } from './recording-stage.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const colours = { red: [200, 30, 30], green: [30, 180, 30], blue: [30, 30, 200], black: [0, 0, 0] } as const;
type Colour = keyof typeof colours;
const hex = (name: Colour) => `0x${colours[name].map((value) => value.toString(16).padStart(2, '0')).join('')}`;
const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

/** A small picture. @returns the file, how long it is said to be, and the sentences about what is not in it */
async function rendered(t: TestContext, folder: string, layout: 'grid' | 'speaker' | 'single' = 'grid') {
  const output = join(await makeResources(t), 'rendered.mp4');
  const problems: string[] = [];
  const duration = await render({
    folder,
    output,
    layout,
    width: 640,
    height: 360,
    framerate: 24,
    log: silentLog(),
    signal: t.signal,
    onProgress: () => {},
    onProblem: (sentence) => problems.push(sentence),
  });
  return { path: output, duration, problems };
}

/** Pictures by their time, and the sound, of a file whose tracks are whole and without a gap. */
async function watch(path: string, duration: number) {
  const [video, audio] = await probeStreams(path);
  assert.deepEqual([video?.codec_name, audio?.codec_name, audio?.sample_rate, audio?.channels], ['h264', 'aac', '48000', 2]);
  const bytes = await readFile(path);
  assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'), 'players find in front what they need');
  const [pictures, times, sound] = await Promise.all([looks(path), packetTimes(path, 'v'), samples(path)]);
  assert.equal(pictures.length, times.length);
  for (const [index, { time }] of times.entries()) assertNear(time, (index * 1000) / 24, 0.1, `picture ${index}`);
  const blocks = await packetTimes(path, 'a');
  const [first] = blocks;
  for (const [index, { time }] of blocks.entries()) assertNear(time, (first?.time ?? 0) + index * (1024 / 48), 0.1, `sound ${index}`);
  assertNear((times.length * 1000) / 24, duration, 1, 'the pictures');
  assertNear(sound.length / 48, duration, 50, 'the sound');
  const at = (time: number) => pictures[Math.floor((time * 24) / 1000)];
  return { at, times, pictures, heard: (from: number, to: number) => sound.subarray(from * 48, to * 48) };
}

type Timed = ReportTrack & Required<Pick<ReportTrack, 'offset' | 'duration'>> & { file: string };

function timed(report: Report, encoding: string, peerId: string): Timed {
  const track = report.tracks.find((each) => each.encoding === encoding && 'peerId' in each.origin && each.origin.peerId === peerId);
  assert.ok(track?.offset !== undefined && track.duration !== undefined && track.file !== null, JSON.stringify(report.tracks));
  return { ...track, offset: track.offset, duration: track.duration, file: track.file };
}

/** The command. @returns what it wrote and how it ended */
async function command(args: readonly string[], more: { cwd?: string; before?: readonly string[]; script?: string } = {}) {
  const { cwd = root, before = [], script = join(root, 'node/render.ts') } = more;
  const child = spawn(process.execPath, [...before, script, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const output: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => output.push(line));
  const [code] = await once(child, 'close');
  return { code, lines, output };
}

test('three peers who come and go are seen in their cells and heard with their tones, all at their times', async (t) => {
  const { runner, publishAll, report: read, folder } = await recordingStage(t);
  const [red, green, blue, low, high] = await publishAll([
    ['vp8', hex('red'), 'a'],
    ['vp9', hex('green'), 'b'],
    ['h264', hex('blue'), 'c'],
    ['opus', 440, 'a'],
    ['opus', 1000, 'b'],
  ]);
  assert.ok(red && green && blue && low && high);
  runner.receive([red, low]);
  await sleep(2000);
  runner.receive([red, low, green, high]);
  await sleep(2000);
  runner.receive([green, high, blue]);
  await sleep(2000);
  await runner.close();
  const report = await read();
  const { path, duration, problems } = await rendered(t, folder);
  assert.deepEqual(problems, []);
  const end = Math.max(...report.tracks.map(({ offset = 0, duration: length = 0 }) => offset + length));
  assertNear(duration, end, 100, 'the length');
  const { at, pictures, heard } = await watch(path, duration);

  const [one, two, three] = [timed(report, 'vp8', 'a'), timed(report, 'vp9', 'b'), timed(report, 'h264', 'c')];
  const ends = { one: one.offset + one.duration, two: two.offset + two.duration };
  const settled = 150;
  assertColour(at(one.offset - 80)?.at(0.5, 0.5), colours.black);
  for (const time of [one.offset + settled, two.offset - settled]) assertColour(at(time)?.at(0.5, 0.5), colours.red);
  for (const time of [two.offset + settled, Math.min(ends.one, three.offset) - settled]) {
    assertColour(at(time)?.at(0.25, 0.5), colours.red);
    assertColour(at(time)?.at(0.75, 0.5), colours.green);
    assertColour(at(time)?.at(0.5, 0.1), colours.black);
  }
  for (const time of [Math.max(ends.one, three.offset) + settled, ends.two - settled]) {
    assertColour(at(time)?.at(0.25, 0.5), colours.green);
    assertColour(at(time)?.at(0.75, 0.5), colours.blue);
  }
  const greenFrom = pictures.findIndex((look) => {
    const [r = 0, g = 0] = look.at(0.75, 0.5);
    return g > 120 && r < 80;
  });
  assertNear((greenFrom * 1000) / 24, two.offset, 100, 'the second one comes');

  const [tone, second] = [timed(report, 'opus', 'a'), timed(report, 'opus', 'b')];
  const [before, both, after] = [
    heard(tone.offset + settled, second.offset - settled),
    heard(second.offset + settled, tone.offset + tone.duration - settled),
    heard(tone.offset + tone.duration + settled, second.offset + second.duration - settled),
  ];
  assert.ok(
    heard(0, tone.offset - 20).every((value) => Math.abs(value) < 0.01),
    'silence before the first',
  );
  assert.ok(share(before, 440) > 0.97, `only the low tone: ${share(before, 440)}`);
  assert.ok(share(after, 1000) > 0.97, `only the high tone: ${share(after, 1000)}`);
  const [lows, highs] = [share(both, 440), share(both, 1000)];
  assert.ok(lows > 0.3 && highs > 0.3 && lows + highs > 0.97, `both tones: ${lows} and ${highs}`);
});

test('a flash and a beep of one moment are within 80 ms, whichever track was recorded first', async (t) => {
  const { room, runner, folder } = await recordingStage(t);
  const track = (id: string, encoding: string) =>
    ({ id, encoding, kind: encoding === 'opus' ? 'audio' : 'video', origin: { peerId: 'p' }, metadata: null }) as const;
  const [video, audio] = [track('v', 'vp8'), track('a', 'opus')];
  await startFlashes(t, { codec: 'vp8', input: room.openInput(), trackId: 'v' }, { codec: 'opus', input: room.openInput(), trackId: 'a' });
  runner.receive([audio]);
  await sleep(1300);
  runner.receive([audio, video]);
  await sleep(5500);
  await runner.close();
  const { path, duration } = await rendered(t, folder);
  const { times, pictures } = await watch(path, duration);
  const bright = pictures.map((look) => (look.at(0.5, 0.5)[0] ?? 0) > 128);
  const flashes = times.flatMap(({ time }, index) => (bright[index] && index > 0 && !bright[index - 1] ? [time] : []));
  const heard = await beeps(path);
  assert.ok(flashes.length >= 4 && heard.length >= 5, `${flashes.length} flashes, ${heard.length} beeps`);
  for (const flash of flashes) {
    const nearest = heard.reduce((best, time) => (Math.abs(time - flash) < Math.abs(best - flash) ? time : best), Number.POSITIVE_INFINITY);
    assertNear(flash, nearest, 80, 'a flash beside its beep');
  }
});

test('what a killed node left is rendered as it lies there, by its id', async (t) => {
  const resources = await makeResources(t);
  const sources = join(resources, 'file_component_sources');
  await Promise.all([makeVideo(join(sources, 'green.h264'), hex('green'), 20), makeTone(join(sources, 'tone.ogg'), 660, 20)]);
  const node = await startNodeProcess(t, { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources });
  const api = apiClient(node.url, apiToken);
  await api.post('/room', { roomId: 'r' });
  for (const [type, options] of [
    ['recording', {}],
    ['file', { filePath: 'green.h264' }],
    ['file', { filePath: 'tone.ogg' }],
  ] as const) {
    assert.equal((await api.post('/room/r/component', { type, options })).status, 201);
  }
  await sleep(4000);
  const killedAt = Date.now();
  node.kill('SIGKILL');
  await node.ended;

  const [id = ''] = await readdir(join(resources, 'recordings'));
  const output = join(resources, 'r.mp4');
  const args = [id, '--resources', resources, '--output', output, '--width', '640', '--height', '360', '--layout', 'single'];
  const { code, lines, output: said } = await command(args);
  assert.deepEqual([code, said], [0, [output]], lines.join('\n'));
  const report = JSON.parse(await readFile(join(resources, 'recordings', id, 'report.json'), 'utf8')) as Report;
  assert.equal(report.state, 'running');
  const [length = 0] = (await packetTimes(output, 'v')).slice(-1).map(({ time }) => time + 1000 / 24);
  const lost = killedAt - Date.parse(report.startTime) - length;
  assert.ok(lost < 1000 && lost > -200, `${lost} ms of the end are lost`);
  const { at, heard } = await watch(output, length);
  // A white box moves over the green.
  assertColour(
    [0.1, 0.5, 0.9].map((x) => at(length - 300)?.at(x, 0.5) ?? []).find(([r = 0]) => r < 100),
    colours.green,
  );
  // Of the sound up to a second less than of the pictures was written.
  const tone = share(heard(length - 2200, length - 1200), 660);
  assert.ok(tone > 0.97, `the tone: ${tone}`);
});

/** A recording that nobody made: files by their names, and what the report says of them. */
async function makeRecording(t: TestContext, tracks: readonly Partial<ReportTrack>[], change: Partial<Record<keyof Report, unknown>> = {}) {
  const resources = await makeResources(t);
  const folder = join(resources, 'recordings', 'x-20260101T000000000Z');
  await mkdir(folder, { recursive: true });
  const report = {
    id: 'x-20260101T000000000Z',
    roomId: 'x',
    node: 'n',
    state: 'finished',
    startTime: '2026-01-01T00:00:00.000Z',
    endTime: null,
    tracks: tracks.map((track, index) => ({
      trackId: `t${index}`,
      type: 'video',
      encoding: 'vp8',
      origin: { peerId: `p${index}` },
      metadata: null,
      offset: 0,
      ...track,
    })),
    ...change,
  };
  await writeFile(join(folder, 'report.json'), JSON.stringify(report));
  return { resources, folder };
}

const encoders = {
  vp8: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-g', '15'],
  h264: ['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'],
  opus: ['-c:a', 'libopus'],
} as const;

async function encode(path: string, codec: keyof typeof encoders, source: string, more: readonly string[] = []): Promise<void> {
  await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-f', 'lavfi', '-i', source, ...encoders[codec], ...more, path]);
}

const picture = (colour: Colour, size: string, seconds: number) => `color=c=${hex(colour)}:s=${size}:r=30:d=${seconds}`;

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
  assertColour(at(300)?.at(0.5, 0.5), colours.red);
  assertColour(at(800)?.at(0.25, 0.5), colours.red);
  assertColour(at(800)?.at(0.75, 0.5), colours.green);
  // The tall picture has black beside it.
  assertColour(at(1300)?.at(0.25, 0.5), colours.blue);
  assertColour(at(1300)?.at(0.08, 0.5), colours.black);
  // Two pictures of one peer, one above the other or side by side.
  const cell = [at(2000)?.at(0.62, 0.5), at(2000)?.at(0.88, 0.5)];
  assertColour(cell[0], colours.green);
  assertColour(cell[1], colours.red);
  assertColour(at(2700)?.at(0.75, 0.5), colours.green);
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
  assertColour(at(100)?.at(0.5, 0.5), colours.red);
  assertColour(at(500)?.at(0.25, 0.5), colours.red);
  assert.ok(share(heard(200, 1800), 500) > 0.97, 'the tone');
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
  const second = Promise.withResolvers<void>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length === 2) second.resolve();
  });
  await Promise.race([second.promise, closed]);
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
