// FFmpeg wrappers: encoding and decoding of frames, text, fragments, and freeing during an operation.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AudioEncoder, aacSamples } from '../../../../node/components/ffmpeg/audio-encoder.ts';
import { AvError, DeferredFree } from '../../../../node/components/ffmpeg/ffmpeg.ts';
import { FragmentMuxer } from '../../../../node/components/ffmpeg/mp4.ts';
import { Scaler } from '../../../../node/components/ffmpeg/scaler.ts';
import { drawText } from '../../../../node/components/ffmpeg/text.ts';
import { VideoDecoder } from '../../../../node/components/ffmpeg/video-decoder.ts';
import { VideoEncoder } from '../../../../node/components/ffmpeg/video-encoder.ts';
import { VideoFrame } from '../../../../node/components/ffmpeg/video-frame.ts';
import { gopTiming } from '../../../../node/components/hls/composer/frame-schedule.ts';
import { type EncodedPart, PartSegmenter } from '../../../../node/components/hls/playlist/part-segmenter.ts';
import { findFont } from '../../../../node/components/process/font.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { boxes, framesInFragment } from '../../../kit/media/fragments.ts';

const red = { y: 81, u: 90, v: 240 };
const size = { width: 160, height: 90 };

/** Encoders for small frames; the test closes them. */
async function encoders(t: TestContext) {
  const video = await VideoEncoder.open({ ...size, framerate: 10, bitrate: 200_000, keyInterval: 1000, threads: 1 });
  const audio = new AudioEncoder({ bitrate: 64_000 });
  t.after(() => {
    video.close();
    audio.close();
  });
  return { video, audio };
}

const boxNames = (bytes: Buffer) => boxes(bytes).map(({ type }) => type);

test('a native object is freed once, after its last operation', async () => {
  let freed = 0;
  const deferredFree = new DeferredFree(() => {
    freed += 1;
  });
  const call = Promise.withResolvers<number>();
  const other = Promise.withResolvers<void>();
  const [result, failing] = [deferredFree.use(() => call.promise), deferredFree.use(() => other.promise)];
  deferredFree.close();
  deferredFree.close();
  assert.equal(freed, 0);
  call.resolve(7);
  assert.equal(await result, 7);
  assert.equal(freed, 0);
  other.reject(new Error('no'));
  await assert.rejects(failing, /no/);
  assert.equal(freed, 1);
  await assert.rejects(
    deferredFree.use(() => Promise.resolve()),
    /Closed/,
  );
});

test('a drawn and scaled frame keeps its color through encoder and decoder', async () => {
  const [small, canvas, decoded] = [VideoFrame.filled(32, 32, red), VideoFrame.filled(size.width, size.height), new VideoFrame()];
  const scaler = new Scaler();
  const scaled = VideoFrame.filled(64, 64);
  await scaler.scale(small, scaled);
  canvas.draw(scaled, { x: 0, y: 0, width: 64, height: 64 }, { x: 96, y: 20 });
  assert.deepEqual([canvas.luma(50)[94], canvas.luma(50)[98], canvas.luma(18)[98]], [16, 81, 16]);
  const encoder = await VideoEncoder.open({ ...size, framerate: 24, bitrate: 500_000, keyInterval: 100, threads: 1 });
  assert.match(encoder.codec, /^avc1\.4d40[0-9a-f]{2}$/);
  const [first] = await encoder.encode(canvas, { timestamp: 0, key: true });
  const decoder = new VideoDecoder('h264');
  assert.ok(first?.key);
  await assert.rejects(decoder.decode(Buffer.from('00000001ff00', 'hex'), 0, decoded), AvError);
  assert.equal(await decoder.decode(Buffer.concat([encoder.context.extraData ?? Buffer.alloc(0), first.data]), 42, decoded), true);
  assert.equal(decoded.timestamp, 42);
  assert.ok(Math.abs((decoded.luma(50)[130] ?? 0) - 81) < 4);
  for (const each of [small, canvas, decoded, scaler, scaled, encoder, decoder]) each.close();
});

test('a text is as wide as necessary, for any content', (t) => {
  const font = findFont();
  if (font === undefined) return t.skip('there is no font');
  const width = (text: string) => {
    const videoFrame = drawText(text, { font, height: 32, maxWidth: 400 });
    const { width: wide, height } = videoFrame;
    videoFrame.close();
    assert.equal(height, 32);
    return wide;
  };
  assert.ok(width('Zoë') > 20 && width('Zoë') < 120, `${width('Zoë')}`);
  assert.ok(width("%{pts} ':\\[x]=;,") > width('%{pts}'));
  assert.equal(width('W'.repeat(300)), 400);
  assert.ok(width('') < 40);
  assert.ok(width('a\u0000b\nc') < 120);
});

test('each part is one fragment with the announced duration, also if frames were dropped', async (t) => {
  const made = await encoders(t);
  const muxer = await FragmentMuxer.open(made);
  assert.deepEqual(boxNames(muxer.init), ['ftyp', 'moov']);
  const parts: EncodedPart[] = [];
  const rhythm = gopTiming(10, 500, 1000);
  const maker = new PartSegmenter({ muxer, rhythm, firstSegment: 7, onPart: (encodedPart) => parts.push(encodedPart) });
  const canvas = VideoFrame.filled(size.width, size.height, red);
  const silence = new Float32Array(aacSamples);
  for (let at = 0; at < 2.5 * 48_000; at += aacSamples) maker.addAudio(made.audio.encode(silence, silence, at));
  for (const number of [0, 1, 2, 3, 4, 5, 8, 10, 14, 15, 20, 21]) {
    for (const frame of await made.video.encode(canvas, { timestamp: number, key: number % 10 === 0 })) await maker.addFrame(frame);
  }
  await maker.finish(22);
  assert.deepEqual(fieldsOf(parts, 'segment', 'first', 'duration', 'independent'), [
    [7, 0, 500, true],
    [7, 5, 500, false],
    [8, 10, 500, true],
    [8, 15, 500, false],
    [9, 20, 200, true],
  ]);
  for (const { bytes } of parts) assert.deepEqual(boxNames(bytes), ['moof', 'mdat']);
  // Each frame lasts until the next one, or until its part ends.
  const shown = [100, 100, 100, 100, 100, 300, 200, 400, 100, 500, 100, 100];
  assert.deepEqual(
    framesInFragment(Buffer.concat(parts.map(({ bytes }) => bytes))),
    shown.map((duration, index) => ({ time: shown.slice(0, index).reduce((sum, each) => sum + each, 0), duration })),
  );
  canvas.close();
  muxer.close();
});
