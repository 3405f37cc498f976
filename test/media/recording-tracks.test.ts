// Recorded tracks of real RTP, verified by ffmpeg: codecs, frames, tones, durations, packet loss, and a killed recorder.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import type { ReportTrack } from '../../api/recording-report.ts';
import type { SubscribableTrack } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor, assertNear, audioSamples, colors, frameTimes, probe, toneTimes } from '../kit/media/recorded-file.ts';
import { startFlashes } from '../kit/media/rtp-publisher.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { startRecordingFixture } from './recording-fixture.ts';

const red = [200, 30, 30] as const;
const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

type Ended = ReportTrack & Required<Pick<ReportTrack, 'duration' | 'offset' | 'frames' | 'lostPackets' | 'startTime'>> & { file: string };

/** A track that ended regularly. */
function ended(track: ReportTrack): Ended {
  assert.ok(track.frames !== undefined && track.endTime !== undefined, JSON.stringify(track));
  return crashed(track);
}

/** A track that ended in any way. */
function crashed(track: ReportTrack): Ended {
  const { file, duration, offset, startTime } = track;
  assert.ok(file !== null && duration !== undefined && offset !== undefined && startTime !== undefined, JSON.stringify(track));
  return { ...track, file, duration, offset, startTime, frames: track.frames ?? 0, lostPackets: track.lostPackets ?? 0 };
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Maximum deviation of frame times from a constant interval, in milliseconds. */
const unevenness = (times: readonly number[], interval: number) =>
  Math.max(...times.map((time, index) => Math.abs(time - index * interval)));

test('VP8, VP9, H.264 and Opus are recorded losslessly with correct frames, tones and durations', async (t) => {
  const { runner, publishAll, report, pathOf } = await startRecordingFixture(t);
  const tracks = await publishAll([
    ['vp8', '0xC81E1E'],
    ['vp9', '0xC81E1E'],
    ['h264', '0xC81E1E'],
    ['opus', 880],
  ]);
  await sleep(500);
  const before = Date.now();
  runner.receive(tracks);
  await sleep(4000);
  await runner.close();
  const length = Date.now() - before;
  const { state, tracks: recorded, startTime } = await report();
  assert.equal(state, 'finished');
  assert.equal(recorded.length, 4);
  for (const track of recorded) {
    const { file, encoding, duration, offset, lostPackets, frames, startTime: first } = ended(track);
    const path = pathOf(file);
    const probed = await probe(path);
    assert.equal(probed.codec, encoding);
    assert.ok(file.endsWith(encoding === 'h264' ? '.mkv' : '.webm'));
    assert.equal(lostPackets, 0);
    assertNear((probed.duration ?? 0) * 1000, duration, 1, 'the length in the report');
    assertNear(Date.parse(first), Date.parse(startTime) + offset, 1, 'the offset');
    const times = await frameTimes(path);
    const last = duration - (times.at(-1) ?? 0);
    assertNear(duration, Date.parse(track.endTime ?? '') - Date.parse(first) + last, 100, 'the length by the clock of the sender');
    assert.ok(duration > 2000 && duration < length + 100, `${encoding} lasts ${duration} of ${length} ms`);
    assert.equal(times.length, frames);
    assert.equal(times[0], 0);
    if (encoding === 'opus') {
      assert.ok(unevenness(times, 20) <= 1, 'audio without a gap');
      const { seconds, frequency } = await audioSamples(path);
      assertNear(seconds * 1000, duration, 20, 'the decoded audio');
      assertNear(frequency, 880, 5, 'the tone');
    } else {
      assert.deepEqual([track.width, track.height, probed.width, probed.height], [320, 180, 320, 180]);
      assert.ok(unevenness(times, 1000 / 30) <= 1.5, `${encoding} has even times: ${times.slice(0, 20)}`);
      const videos = await colors(path);
      assert.equal(videos.length, times.length);
      for (const frame of [videos[0], videos.at(-1)]) assertColor(frame, red);
    }
  }
});

test('tracks that start late, end early or are added again have separate files with correct offsets', async (t) => {
  const { runner, publish, begun, report, pathOf } = await startRecordingFixture(t);
  const first = await publish('opus', 440);
  const receive = (tracks: readonly SubscribableTrack[]) => {
    runner.receive(tracks);
    return Date.now();
  };
  const from = receive([first]);
  await begun(first);
  await sleep(1000);
  const second = await publish('opus', 1000);
  const joined = receive([first, second]);
  await begun(second);
  await sleep(1000);
  const left = receive([second]);
  await sleep(1000);
  const back = receive([second, first]);
  await eventually('the first is recorded again', () => sizeOf(pathOf(`${first.id}-2.webm`)) > 0);
  await sleep(1000);
  await runner.close();
  const closed = Date.now();
  const tracks = (await report()).tracks.map(ended);
  assert.deepEqual(
    tracks.map(({ file }) => file),
    [`${first.id}.webm`, `${second.id}.webm`, `${first.id}-2.webm`],
  );
  const [one, two, again] = tracks;
  const begin = Date.parse((await report()).startTime);
  // Each step takes a while on a busy machine, so positions are compared with frames before and after.
  for (const [track, wanted, there, resumes, endsBy] of [
    [one, from, joined, joined, back],
    [two, joined, left, left, closed],
    [again, back, closed, back, closed],
  ] as const) {
    const { file, offset = Number.NaN, duration = Number.NaN } = track ?? {};
    const [start, end] = [begin + offset, begin + offset + duration];
    assert.ok(start >= wanted - 100 && start <= there, `${file} begins at ${start}, wanted at ${wanted}, there at ${there}`);
    assert.ok(end >= resumes && end <= endsBy + 100, `${file} ends at ${end}, went on at ${resumes}, over at ${endsBy}`);
  }
  assertNear((await audioSamples(pathOf(two?.file ?? ''))).frequency, 1000, 5, 'the tone');
});

test('by their offsets a flash and a beep of one moment are within 80 ms, whichever track was first', async (t) => {
  const { room, runner, report, pathOf } = await startRecordingFixture(t);
  const track = (id: string, encoding: string): SubscribableTrack => ({
    id,
    encoding,
    kind: encoding === 'opus' ? 'audio' : 'video',
    origin: { peerId: 'p' },
    metadata: null,
  });
  const [video, audio] = [track('v', 'vp8'), track('a', 'opus')];
  await startFlashes(t, { codec: 'vp8', input: room.openInput(), trackId: 'v' }, { codec: 'opus', input: room.openInput(), trackId: 'a' });
  runner.receive([audio]);
  await sleep(1300);
  runner.receive([audio, video]);
  await sleep(6500);
  await runner.close();
  const tracks = (await report()).tracks.map(ended);
  const [sounds, videos] = ['audio', 'video'].map((type) => tracks.find((each) => each.type === type));
  assert.ok(sounds && videos);
  const path = pathOf(videos.file);
  const [times, brightness] = await Promise.all([frameTimes(path), colors(path)]);
  const flashes = times.filter((_, index) => index > 0 && (brightness[index]?.[0] ?? 0) > 128 && (brightness[index - 1]?.[0] ?? 0) < 128);
  const heard = (await toneTimes(pathOf(sounds.file))).map((time) => time + sounds.offset);
  assert.ok(flashes.length >= 4 && heard.length >= 5, `${flashes.length} flashes, ${heard.length} beeps`);
  for (const flash of flashes) {
    const seen = flash + videos.offset;
    const nearest = heard.reduce((best, time) => (Math.abs(time - seen) < Math.abs(best - seen) ? time : best), Number.POSITIVE_INFINITY);
    assertNear(seen, nearest, 80, 'the flash is close to its beep');
  }
});

test('after packet loss the file keeps its timing: audio has gaps, and video continues with the next key frame', async (t) => {
  const { runner, publishAll, report, pathOf } = await startRecordingFixture(t);
  const lose = (number: number) => number % 40 === 0;
  const wanted = [
    ['vp8', '0xC81E1E'],
    ['opus', 500],
  ] as const;
  const tracks = await publishAll(wanted, lose);
  await sleep(300);
  runner.receive(tracks);
  await sleep(4000);
  await runner.close();
  const recorded = (await report()).tracks.map(ended);
  assert.equal(recorded.length, 2);
  for (const { file, encoding, duration, lostPackets } of recorded) {
    assert.ok(lostPackets > 0, `${encoding} lost nothing`);
    assert.ok(duration > 1000, `${encoding} lasts ${duration}`);
    if (encoding === 'vp8') for (const frame of await colors(pathOf(file))) assertColor(frame, red);
    else assertNear((await frameTimes(pathOf(file))).at(-1), duration - 20, 1, 'the end');
  }
});

test('a killed recorder is restarted: earlier media is readable, the rest is in new files; the fourth kill is a crash', async (t) => {
  const { runner, publish, report, folder, pathOf, pid, crashes, dropped } = await startRecordingFixture(t);
  const track = await publish('opus', 700);
  runner.receive([track]);
  // Of about 12 KB a second.
  await eventually('more than a second and a half is on the disk', () => sizeOf(pathOf(`${track.id}.webm`)) > 24_000);
  const sizes = async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith('.webm'));
    return files.map((name) => ({ name, size: sizeOf(pathOf(name)) }));
  };
  const killed: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    const current = pid();
    killed.push(current);
    process.kill(current, 'SIGKILL');
    await eventually('a new recorder', () => pid() !== current);
    const files = async () => `file ${times + 2} has more than a head: ${JSON.stringify(await sizes())}`;
    await eventually(files, async () => (await sizes()).filter(({ size }) => size > 3000).length === times + 2);
    // A kill is not the fault of the track in progress.
    assert.deepEqual(dropped, []);
  }
  assert.deepEqual(crashes, []);
  process.kill(pid(), 'SIGKILL');
  await eventually('the end', () => crashes.length > 0);
  assert.deepEqual(crashes, ['The recorder crashed too often: The process was ended by SIGKILL']);
  await runner.close();
  const { tracks: recorded, state } = await report();
  const tracks = recorded.map(crashed);
  assert.deepEqual([state, tracks.length], ['finished', 4]);
  assert.ok((tracks[0]?.duration ?? 0) > 1500, `media of the first file: ${tracks[0]?.duration} ms`);
  for (const { file, duration } of tracks) {
    assert.equal((await probe(pathOf(file))).duration, duration / 1000);
    const { seconds, frequency } = await audioSamples(pathOf(file));
    assertNear(seconds * 1000, duration, 20, 'the decoded audio');
    assertNear(frequency, 700, 5, 'the tone');
  }
});

test('an unsupported codec is reported with a message, and a track without media is omitted', async (t) => {
  const { runner, report } = await startRecordingFixture(t);
  runner.receive([
    { id: 'x', kind: 'video', encoding: 'h265', origin: { peerId: 'p' }, metadata: null },
    { id: 'gone', kind: 'audio', encoding: 'opus', origin: { peerId: 'p' }, metadata: null },
  ]);
  await runner.close();
  const { tracks } = await report();
  const [problem] = tracks;
  assert.equal(tracks.length, 1);
  assert.deepEqual([problem?.file, problem?.problem], [null, 'Tracks with codec h265 cannot be recorded']);
});

test('fifty tracks that come and go leave no open file, and the recorder ends with its component', async (t) => {
  const { runner, publish, report, folder, pid } = await startRecordingFixture(t);
  const track = await publish('opus', 300);
  const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.webm')).length;
  const opened = async () => (await readdir(`/proc/${pid()}/fd`)).length;
  const before = await opened();
  for (let count = 0; count < 50; count += 1) {
    const there = await files();
    runner.receive([track]);
    // From time to time for long enough, on any machine.
    if (count % 4 === 0) await eventually('it has a file', async () => (await files()) > there);
    else await sleep(40);
    runner.receive([]);
  }
  await eventually('no file is left open', async () => (await opened()) <= before);
  const recorder = pid();
  await runner.close();
  assert.ok(!isAlive(recorder));
  const tracks = (await report()).tracks.map(ended);
  assert.ok(tracks.length > 10, `${tracks.length} files`);
});
