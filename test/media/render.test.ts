// A recording as one MP4, verified by ffmpeg: cells over time, tones, A/V synchronization, and the recording of a killed node.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Report, ReportTrack } from '../../api/recording-report.ts';
import { eventually } from '../kit/eventually.ts';
import { packetTimes, ratioOf } from '../kit/media/composed-stream.ts';
import { makeTone, makeVideo } from '../kit/media/media-files.ts';
import { assertColor, assertNear, promisedLoss, recordedBytes, toneTimes } from '../kit/media/recorded-file.ts';
import { startFlashes } from '../kit/media/rtp-publisher.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startRecordingFixture } from './recording-fixture.ts';
import { colours, command, hex, rendered, watch } from './render-kit.ts';

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

type Timed = ReportTrack & Required<Pick<ReportTrack, 'offset' | 'duration'>> & { file: string };

function timed(report: Report, encoding: string, peerId: string): Timed {
  const track = report.tracks.find((each) => each.encoding === encoding && 'peerId' in each.origin && each.origin.peerId === peerId);
  assert.ok(track?.offset !== undefined && track.duration !== undefined && track.file !== null, JSON.stringify(report.tracks));
  return { ...track, offset: track.offset, duration: track.duration, file: track.file };
}

test('three peers who join and leave appear in their cells with their tones at the correct times', async (t) => {
  const { runner, publishAll, begun, report: read, folder } = await startRecordingFixture(t);
  const [red, green, blue, low, high] = await publishAll([
    ['vp8', hex('red'), 'a'],
    ['vp9', hex('green'), 'b'],
    ['h264', hex('blue'), 'c'],
    ['opus', 440, 'a'],
    ['opus', 1000, 'b'],
  ]);
  assert.ok(red && green && blue && low && high);
  runner.receive([red, low]);
  await begun(red, low);
  await sleep(2000);
  runner.receive([red, low, green, high]);
  await begun(green, high);
  await sleep(2000);
  runner.receive([green, high, blue]);
  await begun(blue);
  await sleep(2000);
  await runner.close();
  const report = await read();
  const { path, duration, problems } = await rendered(t, folder);
  assert.deepEqual(problems, []);
  const end = Math.max(...report.tracks.map(({ offset = 0, duration: length = 0 }) => offset + length));
  assertNear(duration, end, 100, 'the length');
  const { at, frames, heard } = await watch(path, duration);

  const [one, two, three] = [timed(report, 'vp8', 'a'), timed(report, 'vp9', 'b'), timed(report, 'h264', 'c')];
  const ends = { one: one.offset + one.duration, two: two.offset + two.duration };
  const settled = 150;
  assertColor(at(one.offset - 80)?.at(0.5, 0.5), colours.black);
  for (const time of [one.offset + settled, two.offset - settled]) assertColor(at(time)?.at(0.5, 0.5), colours.red);
  for (const time of [two.offset + settled, Math.min(ends.one, three.offset) - settled]) {
    assertColor(at(time)?.at(0.25, 0.5), colours.red);
    assertColor(at(time)?.at(0.75, 0.5), colours.green);
    assertColor(at(time)?.at(0.5, 0.1), colours.black);
  }
  for (const time of [Math.max(ends.one, three.offset) + settled, ends.two - settled]) {
    assertColor(at(time)?.at(0.25, 0.5), colours.green);
    assertColor(at(time)?.at(0.75, 0.5), colours.blue);
  }
  const greenFrom = frames.findIndex((frameProbe) => {
    const [r = 0, g = 0] = frameProbe.at(0.75, 0.5);
    return g > 120 && r < 80;
  });
  assertNear((greenFrom * 1000) / 24, two.offset, 100, 'the second one appears');

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
  assert.ok(ratioOf(before, 440) > 0.97, `only the low tone: ${ratioOf(before, 440)}`);
  assert.ok(ratioOf(after, 1000) > 0.97, `only the high tone: ${ratioOf(after, 1000)}`);
  const [lows, highs] = [ratioOf(both, 440), ratioOf(both, 1000)];
  assert.ok(lows > 0.3 && highs > 0.3 && lows + highs > 0.97, `both tones: ${lows} and ${highs}`);
});

test('a flash and a beep of one moment are within 80 ms, whichever track was recorded first', async (t) => {
  const { room, runner, folder } = await startRecordingFixture(t);
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
  const { times, frames } = await watch(path, duration);
  const bright = frames.map((frameProbe) => (frameProbe.at(0.5, 0.5)[0] ?? 0) > 128);
  const flashes = times.flatMap(({ time }, index) => (bright[index] && index > 0 && !bright[index - 1] ? [time] : []));
  const heard = await toneTimes(path);
  assert.ok(flashes.length >= 4 && heard.length >= 5, `${flashes.length} flashes, ${heard.length} beeps`);
  for (const flash of flashes) {
    const nearest = heard.reduce((best, time) => (Math.abs(time - flash) < Math.abs(best - flash) ? time : best), Number.POSITIVE_INFINITY);
    assertNear(flash, nearest, 80, 'the flash is close to its beep');
  }
});

test('the recording of a killed node is rendered by its id without being finished', async (t) => {
  const resources = await makeResources(t);
  const sources = join(resources, 'file_component_sources');
  await Promise.all([makeVideo(join(sources, 'green.h264'), hex('green'), 20), makeTone(join(sources, 'tone.ogg'), 660, 20)]);
  const node = await startNodeProcess(t, { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources });
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  for (const [type, options] of [
    ['recording', {}],
    ['file', { filePath: 'green.h264' }],
    ['file', { filePath: 'tone.ogg' }],
  ] as const) {
    assert.equal((await api.post('/room/r/component', { type, options })).status, 201);
  }
  const recorded = (extension: '.webm' | '.mkv') => recordedBytes(resources, extension);
  await eventually(
    'some seconds of both are on the disk',
    async () => (await recorded('.webm')) > 36_000 && (await recorded('.mkv')) > 54_000,
  );
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
  t.diagnostic(`${Math.round(lost)} ms of the end are lost`);
  assert.ok(lost < 5 * promisedLoss && lost > -200, `${lost} ms of the end are lost`);
  const { at, heard } = await watch(output, length);
  // A white box moves over the green background.
  assertColor(
    [0.1, 0.5, 0.9].map((x) => at(length - 300)?.at(x, 0.5) ?? []).find(([r = 0]) => r < 100),
    colours.green,
  );
  // Up to a second less of audio than of video was written.
  const tone = ratioOf(heard(length - 2200, length - 1200), 660);
  assert.ok(tone > 0.97, `the tone: ${tone}`);
});
