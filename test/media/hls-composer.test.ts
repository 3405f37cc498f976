// Composed stream of a real room, verified by ffmpeg: colors in cells, tones, times, and tracks that come and go.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RoomMedia } from '../../node/rooms/interfaces.ts';
import { framesAt, packetTimes, startComposer, steadyShare } from '../kit/media/composed-stream.ts';
import { writtenFrames } from '../kit/media/fragments.ts';
import { assertColor, assertNear, probeAll, samplesOf, toneTimes } from '../kit/media/recorded-file.ts';
import { encodeContent, type PublishedCodec, startFlashes, startPublisher } from '../kit/media/rtp-publisher.ts';
import { engineFor, openRoom } from './kit.ts';

const colours = { red: [200, 30, 30], green: [30, 180, 30], blue: [30, 30, 200], black: [0, 0, 0] } as const;
const hex = (name: keyof typeof colours) => `0x${colours[name].map((value) => value.toString(16).padStart(2, '0')).join('')}`;

type Wanted = readonly [codec: PublishedCodec, content: keyof typeof colours | number];

/** Encodes all tracks before it sends the first. @returns track ids */
async function publish(t: TestContext, room: RoomMedia, wanted: readonly Wanted[]) {
  const contents = wanted.map(([, content]) => (typeof content === 'number' ? content : hex(content)));
  const files = await Promise.all(wanted.map(([codec], index) => encodeContent(t, codec, contents[index] ?? '')));
  return Promise.all(
    wanted.map(async ([codec], index) => {
      const trackId = `${codec}-${index}`;
      const content = contents[index] ?? '';
      const { stop } = await startPublisher(t, { codec, content, input: room.openInput(), trackId, file: files[index] });
      return { id: trackId, encoding: codec, stop };
    }),
  );
}

test('VP8, VP9 and H.264 of three peers appear in their cells with their tones, without gaps while they join and leave', async (t) => {
  const room = openRoom(await engineFor(t));
  const composer = await startComposer(t, {}, room);
  const [red, green, blue, low, high] = await publish(t, room, [
    ['vp8', 'red'],
    ['vp9', 'green'],
    ['h264', 'blue'],
    ['opus', 440],
    ['opus', 1000],
  ]);
  assert.ok(red && green && blue && low && high);
  const marks: number[] = [];
  const mark = async () => {
    await composer.after(4);
    marks.push(composer.parts().length * 500 - 200);
  };
  const first = await composer.add({ ...red, source: 'a' });
  await composer.add({ ...low, source: 'a' });
  await mark();
  await composer.add({ ...green, source: 'b' });
  await composer.add({ ...high, source: 'b' });
  await mark();
  await composer.add({ ...blue, source: 'c' });
  await mark();
  composer.remove(first, red.id);
  await mark();
  const path = await composer.close();

  const [video, audio] = (await probeAll(path)).streams;
  assert.deepEqual([video?.codec_name, video?.profile, video?.width, video?.height], ['h264', 'Main', 640, 360]);
  assert.deepEqual([audio?.codec_name, audio?.profile, audio?.sample_rate, audio?.channels], ['aac', 'LC', '48000', 2]);
  const level = Number(video?.level).toString(16).padStart(2, '0');
  assert.equal(composer.codecs, `avc1.4d40${level},mp4a.40.2`);

  const [frames, times] = [await framesAt(path), await packetTimes(path, 'v')];
  assert.equal(frames.length, times.length);
  const [one, two, three, without] = marks.map((mark) => frames[times.findLastIndex(({ time }) => time <= mark)]);
  assertColor(one?.at(0.5, 0.5), colours.red);
  assertColor(two?.at(0.25, 0.5), colours.red);
  assertColor(two?.at(0.75, 0.5), colours.green);
  assertColor(two?.at(0.5, 0.1), colours.black);
  assertColor(three?.at(0.25, 0.25), colours.red);
  assertColor(three?.at(0.75, 0.25), colours.green);
  assertColor(three?.at(0.5, 0.75), colours.blue);
  assertColor(three?.at(0.1, 0.75), colours.black);
  assertColor(without?.at(0.25, 0.5), colours.green);
  assertColor(without?.at(0.75, 0.5), colours.blue);

  const samples = await samplesOf(path);
  const heard = (end: number) => samples.subarray((end - 500) * 48, end * 48);
  const [alone = 0, both = 0] = marks;
  assert.ok(steadyShare(heard(alone), 440) > 0.97, `only the low tone: ${steadyShare(heard(alone), 440)}`);
  const [lows, highs] = [steadyShare(heard(both), 440), steadyShare(heard(both), 1000)];
  assert.ok(lows > 0.4 && highs > 0.4 && lows + highs > 0.97, `both tones: ${lows} and ${highs}`);

  // A busy machine drops frames, but never time: each frame lasts until the next.
  const written = await writtenFrames(path);
  assert.equal(written.length, times.length);
  let end = 0;
  for (const [index, { time, key }] of times.entries()) {
    const number = Math.round((time * 24) / 1000);
    assertNear(time, end, 0.1, `frame ${number} follows the one before`);
    assertNear(time, (number * 1000) / 24, 0.1, `frame ${number} is at its time`);
    assert.equal(key, number % 24 === 0, `frame ${number}`);
    end = time + (written[index]?.duration ?? 0);
  }
  for (const [index, { time }] of (await packetTimes(path, 'a')).entries()) assertNear(time, index * (1024 / 48), 0.1, `audio ${index}`);
  // Audio that remains in the encoder does not fill a part.
  assertNear(samples.length / 48, end, 110, 'as much audio as video');
  for (const [index, part] of composer.parts().entries()) {
    assert.equal(part.segment, Math.floor(index / 4));
    assert.equal(part.independent, index % 2 === 0);
    assert.ok(index === composer.parts().length - 1 || part.duration === 500, `part ${index} lasts ${part.duration}`);
  }
});

test('a flash and a beep of one moment are within 80 ms, and match the time of the part', async (t) => {
  const room = openRoom(await engineFor(t));
  const composer = await startComposer(t, {}, room);
  const tracks = { codec: 'vp8', input: room.openInput(), trackId: 'v' } as const;
  await startFlashes(t, tracks, { codec: 'opus', input: room.openInput(), trackId: 'a' });
  await composer.add({ id: 'v', encoding: 'vp8', source: 'p' });
  await composer.add({ id: 'a', encoding: 'opus', source: 'p' });
  await composer.after(14);
  const path = await composer.close();
  const times = await packetTimes(path, 'v');
  const bright = (await framesAt(path)).map((frameProbe) => (frameProbe.at(0.5, 0.5)[0] ?? 0) > 128);
  const flashes = times.flatMap(({ time }, index) => (bright[index] && index > 0 && !bright[index - 1] ? [time] : []));
  const heard = await toneTimes(path);
  assert.ok(flashes.length >= 4 && heard.length >= 4, `${flashes.length} flashes, ${heard.length} beeps`);
  for (const flash of flashes.slice(1)) {
    const nearest = heard.reduce((best, time) => (Math.abs(time - flash) < Math.abs(best - flash) ? time : best), Number.POSITIVE_INFINITY);
    assertNear(flash, nearest, 80, 'the flash is close to its beep');
  }
});
