// Shown tracks: what the application sees of tracks that are received over two sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { types } from 'mediasoup-client';
import type { SubscribedTrack } from '../../../packages/client/src/generated/protocol.ts';
import type { MediaSession } from '../../../packages/client/src/media/media-session.ts';
import { ShownTracks } from '../../../packages/client/src/media/shown-tracks.ts';

const track = (trackId: string): SubscribedTrack => ({
  trackId,
  transportId: 't',
  kind: 'audio',
  rtpParameters: { codecs: [] },
  paused: false,
});

/** Frames of `muted` do not arrive. */
function consumerOf(name: string, muted = false): types.Consumer {
  const stats = new Map([['a', { type: 'inbound-rtp', kind: 'audio', jitterBufferEmittedCount: 960 }]]);
  return { closed: false, track: { id: name, muted }, getStats: async () => stats } as unknown as types.Consumer;
}

function makeShown() {
  const seen: string[] = [];
  const shown = new ShownTracks({
    subscribed: ({ trackId }, { track: { id } }) => seen.push(`${trackId} is ${id}`),
    unsubscribed: (trackId) => seen.push(`${trackId} ends`),
    replaced: ({ trackId }, { track: { id } }, previous) => seen.push(`${trackId} was ${previous.id}, is ${id}`),
  });
  const [before, next] = [{}, {}] as [MediaSession, MediaSession];
  return { shown, seen: () => seen.splice(0), before, next };
}

test('a track is shown over the second session when it flows there', async () => {
  const { shown, seen, before, next } = makeShown();
  shown.subscribed(before, track('a'), consumerOf('a1'));
  shown.subscribed(before, track('b'), consumerOf('b1'));
  shown.subscribed(next, track('a'), consumerOf('a2'));
  shown.subscribed(next, track('b'), consumerOf('b2', true));
  await shown.replace(next, 'flowing');
  assert.deepEqual(seen(), ['a is a1', 'b is b1', 'a was a1, is a2']);
  assert.equal(shown.countOver(before), 1);
  await shown.replace(next, 'all');
  assert.deepEqual(seen(), ['b was b1, is b2']);
  shown.unsubscribed(before, 'a');
  shown.unsubscribed(before, 'b');
  assert.deepEqual(seen(), []);
});

test('a track is shown over the first session again if the second one ends', async () => {
  const { shown, seen, before, next } = makeShown();
  shown.subscribed(before, track('a'), consumerOf('a1'));
  shown.subscribed(next, track('a'), consumerOf('a2'));
  await shown.replace(next, 'flowing');
  seen();
  shown.unsubscribed(next, 'a');
  assert.deepEqual(seen(), ['a was a2, is a1']);
});

test('a track that ends is not shown over the other session', async () => {
  const { shown, seen, before, next } = makeShown();
  shown.subscribed(before, track('a'), consumerOf('a1'));
  shown.subscribed(next, track('a'), consumerOf('a2'));
  seen();
  shown.ending('a');
  shown.unsubscribed(before, 'a');
  shown.unsubscribed(next, 'a');
  assert.deepEqual(seen(), ['a ends']);
});
