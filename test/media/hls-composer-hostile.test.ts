// Composer under stress: broken packets, tracks that stop or churn, a full disk; and AV1, which is only available as RTP.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { composedEncodings } from '../../node/components/hls/composer/composer-messages.ts';
import { ByteFuzzer } from '../kit/fuzzer.ts';
import { type FrameProbe, framesAt, packetTimes, startComposer } from '../kit/media/composed-stream.ts';
import { writtenFrames } from '../kit/media/fragments.ts';
import { assertColor, assertNear, probeAll, samplesOf } from '../kit/media/recorded-file.ts';
import { makeRtp, sendInTime, withSsrc } from '../kit/media/rtp-packets.ts';
import { memoryOf } from '../kit/processes/memory.ts';
import { smallDisk } from '../kit/processes/small-disk.ts';

const empty = [26, 26, 26];
const video = { clockRate: 90_000, channels: 1 } as const;
const audio = { clockRate: 48_000, channels: 2 } as const;
const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

const brightest = (frameProbe: FrameProbe | undefined, [left, top]: readonly [number, number]) =>
  Math.max(
    ...Array.from({ length: 400 }, (_, index) =>
      Math.min(...(frameProbe?.at(left + (index % 40) / 320, top + Math.floor(index / 40) / 160) ?? [0])),
    ),
  );

test('AV1 is decoded, names are drawn, an audio-only peer is shown by name, and a stale frame disappears', async (t) => {
  const composer = await startComposer(t, { names: true });
  const packets = await makeRtp(t, 'av1', '0x1E1EC8', 3);
  const source = { ...video, encoding: 'av1', ssrc: 7, source: 'a', name: "Zoë %{pts} '" } as const;
  await composer.announce(source);
  await composer.announce({ ...audio, encoding: 'opus', ssrc: 8, source: 'b', name: 'Only a voice' });
  await sendInTime(t, packets, { ssrc: 7, port: composer.port, clockRate: 90_000 });
  await composer.after(1);
  const shown = composer.parts().length * 500 - 600;
  // It is shown for three seconds more; a blocked composer reports its parts late.
  await composer.after(12);
  const removedAt = composer.parts().length * 500 - 200;
  const path = await composer.close();
  const [frames, times] = [await framesAt(path), await packetTimes(path, 'v')];
  const [during, after] = [shown, removedAt].map((mark) => frames[times.findLastIndex(({ time }) => time <= mark)]);
  assertColor(during?.at(0.25, 0.5), [30, 30, 200]);
  assertColor(after?.at(0.25, 0.5), empty);
  for (const frameProbe of [during, after]) {
    assert.ok(brightest(frameProbe, [0.01, 0.68]) > 120, 'the name in the corner');
    assert.ok(brightest(frameProbe, [0.7, 0.46]) > 120, 'the name of the audio-only peer');
    assertColor(frameProbe?.at(0.75, 0.3), empty);
  }
});

test('the loudest peer is large in layout speaker, and alone in layout single', async (t) => {
  const [red, blue] = await Promise.all([makeRtp(t, 'vp8', '0xC81E1E', 4), makeRtp(t, 'vp8', '0x1E1EC8', 4)]);
  const tone = await makeRtp(t, 'opus', 440, 4);
  for (const layout of ['speaker', 'single'] as const) {
    const composer = await startComposer(t, { layout });
    const { port } = composer;
    for (const [index, packets] of [red, blue].entries()) {
      await composer.announce({ ...video, encoding: 'vp8', ssrc: index, source: `s${index}`, name: null });
      void sendInTime(t, packets, { ssrc: index, port, clockRate: 90_000 });
    }
    await composer.announce({ ...audio, encoding: 'opus', ssrc: 9, source: 's1', name: null });
    await composer.after(3);
    const before = composer.parts().length * 500 - 100;
    void sendInTime(t, tone, { ssrc: 9, port, clockRate: 48_000 });
    await composer.after(4);
    const path = await composer.close();
    const [frames, times] = [await framesAt(path), await packetTimes(path, 'v')];
    const [first, last] = [before, Number.POSITIVE_INFINITY].map((mark) => frames[times.findLastIndex(({ time }) => time <= mark)]);
    assertColor(first?.at(0.5, 0.4), [200, 30, 30]);
    assertColor(last?.at(0.5, 0.4), [30, 30, 200]);
    assertColor(last?.at(0.5, 0.9), layout === 'speaker' ? [200, 30, 30] : [30, 30, 200]);
  }
});

test('thousands of broken packets of every codec do not end the composer, and valid frames are shown afterwards', async (t) => {
  const composer = await startComposer(t);
  const byteFuzzer = new ByteFuzzer(8);
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  for (const [index, encoding] of composedEncodings.entries()) {
    const packets = await makeRtp(t, encoding, encoding === 'opus' ? 440 : '0xC81E1E', 1);
    const ssrc = 100 + index;
    const entry = await composer.announce({ ...(encoding === 'opus' ? audio : video), encoding, ssrc, source: encoding, name: null });
    for (let round = 0; round < 12; round += 1) {
      for (const packet of packets) {
        const whole = withSsrc(packet, ssrc);
        // Neither old nor duplicate packets.
        whole.writeUInt16BE((whole.readUInt16BE(2) + round * packets.length) & 0xffff, 2);
        const broken = byteFuzzer.below(3) === 0 ? byteFuzzer.mutate([whole.subarray(12)]) : whole.subarray(12);
        socket.send(
          Buffer.concat([byteFuzzer.below(50) === 0 ? byteFuzzer.mutate([whole.subarray(0, 12)]) : whole.subarray(0, 12), broken]),
          composer.port,
          '127.0.0.1',
        );
      }
      await sleep(60);
    }
    assert.deepEqual(composer.exits, [], `${encoding} ended it`);
    if (encoding !== 'vp8') composer.remove(entry);
  }
  for (let count = 0; count < 2000; count += 1) {
    socket.send(byteFuzzer.mutate([Buffer.alloc(60, count), Buffer.from('80c80006000000650000', 'hex')]), composer.port, '127.0.0.1');
  }
  const ssrc = 500;
  await composer.announce({ ...video, encoding: 'h264', ssrc, source: 'whole', name: null });
  await sendInTime(t, await makeRtp(t, 'h264', '0x1EB41E', 3), { ssrc, port: composer.port, clockRate: 90_000 });
  const path = await composer.close();
  assertColor((await framesAt(path)).at(-6)?.at(0.75, 0.5), [30, 180, 30]);
  assert.equal((await probeAll(path)).streams.length, 2);
  await samplesOf(path);
});

test('a hundred joins and leaves leak no memory or file, and the stream has no gap', async (t) => {
  const composer = await startComposer(t);
  const packets = await makeRtp(t, 'vp8', '0xC81E1E', 1);
  const tone = await makeRtp(t, 'opus', 440, 1);
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const memory = () => memoryOf(composer.pid()) / 2 ** 20;
  const files = async () => (await readdir(`/proc/${composer.pid()}/fd`)).length;
  const churn = async (times: number) => {
    for (let count = 0; count < times; count += 1) {
      const ssrc = 1000 + (count % 7);
      const entries = [
        await composer.announce({ ...video, encoding: 'vp8', ssrc, source: `s${ssrc}`, name: null }),
        await composer.announce({ ...audio, encoding: 'opus', ssrc: ssrc + 100, source: `s${ssrc}`, name: null }),
      ];
      for (const packet of packets) socket.send(withSsrc(packet, ssrc), composer.port, '127.0.0.1');
      for (const packet of tone) socket.send(withSsrc(packet, ssrc + 100), composer.port, '127.0.0.1');
      await sleep(40);
      for (const entry of entries) composer.remove(entry);
    }
  };
  await churn(50);
  await sleep(300);
  const [before, opened] = [memory(), await files()];
  await churn(100);
  await sleep(300);
  const after = memory();
  t.diagnostic(`${Math.round(before)} MB, then ${Math.round(after)} MB`);
  assert.ok(after < before + 25, `from ${before} to ${after} MB`);
  assertNear(await files(), opened, 2, 'open files');
  const path = await composer.close();
  let end = 0;
  for (const { time, duration } of await writtenFrames(path)) {
    assertNear(time, end, 0.1, 'frames are contiguous');
    end = time + duration;
  }
  assert.deepEqual(
    (await packetTimes(path, 'a')).filter(({ time }, index) => Math.abs(time - (index * 1024) / 48) > 0.1),
    [],
  );
});

test('a full disk is reported once, after the written parts, and the process runs until it is closed', async (t) => {
  const folder = smallDisk(t, '64k');
  if (folder === undefined) return;
  const composer = await startComposer(t, { folder, videoBitrate: 4_000_000 });
  const ssrc = 3;
  await composer.announce({ ...video, encoding: 'vp8', ssrc, source: 'a', name: null });
  void sendInTime(t, await makeRtp(t, 'vp8', '0x808080', 8), { ssrc, port: composer.port, clockRate: 90_000 });
  const { reason } = await composer.heard('failed', () => true);
  assert.equal(reason, 'The disk is full');
  const written = composer.parts().length;
  await sleep(700);
  assert.deepEqual([composer.parts().length, composer.exits], [written, []]);
  assert.equal(composer.reports.filter(({ type }) => type === 'failed').length, 1);
});
