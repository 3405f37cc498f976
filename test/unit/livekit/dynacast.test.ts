// Dynacast: which qualities a client is requested to send, and when.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { SubscribedQualityUpdate, VideoQuality } from '@livekit/protocol';
import { Dynacast, qualityOf, type SentVideo } from '../../../node/livekit/dynacast.ts';
import { trackSid } from '../../../node/livekit/ids.ts';
import type { Message } from '../../../node/livekit/messages.ts';

const pauseDelay = 5_000;
const simulcast = { codec: 'vp8', rids: ['q', 'h', 'f'] };

function start(t: TestContext, videos: Record<string, SentVideo> = { camera: simulcast }) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: SubscribedQualityUpdate[] = [];
  const send = (message: Message) => {
    assert.ok(message?.case === 'subscribedQualityUpdate');
    sent.push(new SubscribedQualityUpdate(message.value));
  };
  const dynacast = new Dynacast({ pauseDelay, videoOf: (trackId) => videos[trackId], send });
  /** SID, codec and enabled qualities of what was sent since the last call. */
  const requests = () =>
    sent.splice(0).map(({ trackSid: sid, subscribedQualities, subscribedCodecs }) => {
      const [codec] = subscribedCodecs;
      assert.deepEqual(codec?.qualities, subscribedQualities, 'older clients read the qualities without a codec');
      return [sid, codec?.codec, subscribedQualities.flatMap(({ quality, enabled }) => (enabled ? VideoQuality[quality] : []))];
    });
  return { dynacast, requests, wait: (time: number) => t.mock.timers.tick(time) };
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
  const videos: Record<string, SentVideo> = { camera: simulcast, screen: { codec: 'vp9', rids: [] } };
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
