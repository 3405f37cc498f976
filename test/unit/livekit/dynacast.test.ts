// Dynacast: which qualities a client is requested to send, and when.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type SubscribedQuality, SubscribedQualityUpdate, VideoQuality } from '@livekit/protocol';
import { trackSid } from '../../../node/livekit/ids.ts';
import { Dynacast, qualityOf, type SentVideo } from '../../../node/livekit/media/dynacast.ts';
import type { Message } from '../../../node/livekit/messages.ts';

const pauseDelay = 5_000;
/** Of a video with three layers, or with one. */
const vp8 = (id: string) => ({ id, codec: 'vp8', rids: ['q', 'h', 'f'] });
const vp9 = (id: string) => ({ id, codec: 'vp9', rids: [] });
const camera: SentVideo = { trackId: 'camera', codecs: [vp8('camera')] };

function start(t: TestContext, videos: Record<string, SentVideo> = { camera }) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: SubscribedQualityUpdate[] = [];
  const send = (message: Message) => {
    assert.ok(message?.case === 'subscribedQualityUpdate');
    sent.push(new SubscribedQualityUpdate(message.value));
  };
  const dynacast = new Dynacast({ pauseDelay, videoOf: (id) => videos[id], send });
  /** SID, codec and enabled qualities of what was sent since the last call. */
  const requests = () =>
    sent.splice(0).map(({ trackSid: sid, subscribedQualities, subscribedCodecs }) => {
      assert.deepEqual(subscribedCodecs[0]?.qualities, subscribedQualities, 'older clients read the qualities without a codec');
      return [sid, ...subscribedCodecs.flatMap(({ codec, qualities }) => [codec, enabledOf(qualities)])];
    });
  return { dynacast, requests, wait: (time: number) => t.mock.timers.tick(time) };
}

function enabledOf(qualities: readonly SubscribedQuality[]): string[] {
  return qualities.flatMap(({ quality, enabled }) => (enabled ? (VideoQuality[quality] ?? '') : []));
}

test('a layer has the quality of its encoding, and a single encoding has all', () => {
  const { LOW, MEDIUM, HIGH } = VideoQuality;
  assert.deepEqual(
    [0, 1, 2, undefined].map((layer) => qualityOf(layer, ['q', 'h', 'f'])),
    [LOW, MEDIUM, HIGH, undefined],
  );
  assert.deepEqual(
    [0, 1, 2, undefined].map((layer) => qualityOf(layer, ['q', 'h'])),
    [LOW, MEDIUM, MEDIUM, undefined],
  );
  for (const rids of [[], ['q'], ['low', 'high']]) assert.equal(qualityOf(1, rids), HIGH);
  assert.equal(qualityOf(undefined, []), undefined);
});

test('a video that no receiver needs stops after a delay, and starts at once for the first receiver', (t) => {
  const { dynacast, requests, wait } = start(t);
  dynacast.need('camera', undefined);
  wait(pauseDelay - 1);
  assert.deepEqual(requests(), []);
  wait(1);
  assert.deepEqual(requests(), [[trackSid('camera'), 'vp8', []]]);
  dynacast.need('camera', 0);
  assert.deepEqual(requests(), [[trackSid('camera'), 'vp8', ['LOW']]]);
  dynacast.need('camera', 7);
  assert.deepEqual(requests(), [[trackSid('camera'), 'vp8', ['LOW', 'MEDIUM', 'HIGH']]]);
  wait(10 * pauseDelay);
  assert.deepEqual(requests(), []);
});

test('a receiver that returns within the delay changes nothing, and of several changes the last one counts', (t) => {
  const { dynacast, requests, wait } = start(t);
  dynacast.need('camera', undefined);
  wait(pauseDelay - 1);
  dynacast.need('camera', 2);
  wait(pauseDelay - 1);
  dynacast.need('camera', undefined);
  wait(pauseDelay - 1);
  dynacast.need('camera', 1);
  assert.deepEqual(requests(), []);
  wait(1);
  assert.deepEqual(requests(), [[trackSid('camera'), 'vp8', ['LOW', 'MEDIUM']]]);
});

test('requests are repeated for a client that may have missed them; a track that ended is forgotten', (t) => {
  const videos: Record<string, SentVideo> = { camera, screen: { trackId: 'screen', codecs: [vp9('screen')] } };
  const { dynacast, requests, wait } = start(t, videos);
  for (const trackId of ['camera', 'screen']) dynacast.need(trackId, undefined);
  wait(pauseDelay);
  dynacast.need('screen', 1);
  requests();
  dynacast.repeat();
  assert.deepEqual(requests(), [
    [trackSid('camera'), 'vp8', []],
    [trackSid('screen'), 'vp9', ['LOW', 'MEDIUM', 'HIGH']],
  ]);
  dynacast.forget('camera');
  delete videos.screen;
  // Its receivers leave after its end.
  dynacast.need('screen', undefined);
  wait(pauseDelay);
  dynacast.repeat();
  assert.deepEqual(requests(), []);
  dynacast.need('screen', undefined);
  dynacast.close();
  wait(pauseDelay);
  assert.deepEqual(requests(), []);
});

test('a backup codec is requested until the client announces it, then each codec has the layers that its receivers need', (t) => {
  const all = ['LOW', 'MEDIUM', 'HIGH'];
  const sid = trackSid('camera');
  const videos: Record<string, SentVideo> = {};
  const { dynacast, requests, wait } = start(t, videos);
  dynacast.need('camera', undefined);
  dynacast.needBackup('camera');
  assert.deepEqual(requests(), [], 'the client is still publishing the video');
  const video: SentVideo = { trackId: 'camera', codecs: [vp9('camera'), { ...vp8('backup'), rids: [] }] };
  Object.assign(videos, { camera: video, backup: video });
  wait(1_000);
  dynacast.needBackup('camera');
  wait(1_000);
  assert.deepEqual(requests(), Array(2).fill([sid, 'vp9', all, 'vp8', all]));
  dynacast.backupAnnounced('camera');
  wait(pauseDelay - 2_000);
  assert.deepEqual(requests(), [[sid, 'vp9', [], 'vp8', all]], 'no receiver needs the first codec');
  video.codecs[1] = vp8('backup');
  dynacast.need('backup', undefined);
  dynacast.need('backup', 1);
  wait(pauseDelay);
  assert.deepEqual(requests(), [[sid, 'vp9', [], 'vp8', ['LOW', 'MEDIUM']]]);
  dynacast.need('camera', 7);
  dynacast.need('backup', undefined);
  wait(pauseDelay);
  assert.deepEqual(requests(), [
    [sid, 'vp9', all, 'vp8', ['LOW', 'MEDIUM']],
    [sid, 'vp9', all, 'vp8', []],
  ]);
  for (const id of ['camera', 'backup']) dynacast.forget(id);
  wait(pauseDelay);
  assert.deepEqual(requests(), []);
});

test('a client that does not announce its backup codec gets ten requests, and more for a later receiver', (t) => {
  const { dynacast, requests, wait } = start(t, { camera: { trackId: 'camera', codecs: [vp9('camera'), { ...vp8('backup'), rids: [] }] } });
  dynacast.needBackup('camera');
  for (let second = 0; second < 20; second += 1) wait(1_000);
  assert.equal(requests().length, 10);
  dynacast.needBackup('camera');
  assert.equal(requests().length, 1);
  dynacast.close();
  wait(1_000);
  assert.deepEqual(requests(), []);
});
