// Shown tracks: what the application sees of tracks that are received over two sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { types } from 'mediasoup-client';
import type { SubscribedTrack } from '../../../packages/client/src/generated/protocol.ts';
import type { MediaSession } from '../../../packages/client/src/media/media-session.ts';
import { ShownTracks } from '../../../packages/client/src/media/shown-tracks.ts';

const track = (trackId: string, replaces?: true): SubscribedTrack => ({
  ...{ trackId, transportId: 't', kind: 'audio', rtpParameters: { codecs: [] }, paused: false },
  ...(replaces && { replaces }),
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
  return { shown, seen: () => seen.splice(0), before: makeSession(shown), next: makeSession(shown) };
}

/** A session that receives tracks as the tests say. */
function makeSession(shown: ShownTracks) {
  const received = new Map<string, types.Consumer[]>();
  const flowing: string[] = [];
  const announced = new Set<string>();
  const session = {
    closed: false,
    consumer: (trackId: string, which: 'latest' | 'existing') =>
      which === 'latest' && announced.has(trackId) ? undefined : received.get(trackId)?.at(-1),
    flowing: (trackIds: string[]) => flowing.push(...trackIds),
  } as unknown as MediaSession;
  const receive = (trackId: string, consumer: types.Consumer, replaces?: true) => {
    received.set(trackId, [...(received.get(trackId) ?? []), consumer]);
    shown.subscribed(session, track(trackId, replaces), consumer);
  };
  const end = (trackId: string) => {
    const consumers = received.get(trackId) ?? [];
    received.delete(trackId);
    for (const consumer of consumers.reverse()) shown.unsubscribed(trackId, consumer);
  };
  /** Announces a successor of a track whose consumer does not exist yet. */
  const announce = (trackId: string) => announced.add(trackId);
  return { session, flowing, receive, announce, end };
}

test('a track is shown over the second session when it flows there', async () => {
  const { shown, seen, before, next } = makeShown();
  before.receive('a', consumerOf('a1'));
  before.receive('b', consumerOf('b1'));
  next.receive('a', consumerOf('a2'));
  next.receive('b', consumerOf('b2', true));
  await shown.replace(next.session, 'flowing');
  assert.deepEqual(seen(), ['a is a1', 'b is b1', 'a was a1, is a2']);
  assert.equal(shown.countOver(before.session), 1);
  await shown.replace(next.session, 'all');
  assert.deepEqual(seen(), ['b was b1, is b2']);
  before.end('a');
  before.end('b');
  assert.deepEqual(seen(), []);
});

test('a track is shown over the first session again if the second one ends', async () => {
  const { shown, seen, before, next } = makeShown();
  before.receive('a', consumerOf('a1'));
  next.receive('a', consumerOf('a2'));
  await shown.replace(next.session, 'flowing');
  seen();
  next.end('a');
  assert.deepEqual(seen(), ['a was a2, is a1']);
});

test('a track that ends is not shown over the other session', async () => {
  const { shown, seen, before, next } = makeShown();
  before.receive('a', consumerOf('a1'));
  next.receive('a', consumerOf('a2'));
  seen();
  shown.ending('a');
  before.end('a');
  next.end('a');
  assert.deepEqual(seen(), ['a ends']);
});

test('a track is shown as its successor when that flows, which is reported', async () => {
  const { shown, seen, before } = makeShown();
  before.receive('a', consumerOf('a1'));
  before.receive('a', consumerOf('a2'), true);
  assert.deepEqual([seen(), before.flowing], [['a is a1'], []]);
  await shown.follow(before.session, ['a']);
  assert.deepEqual([seen(), before.flowing], [['a was a1, is a2'], ['a']]);
});

test('a track whose publisher and receiver move is shown as the successor over the second session', async () => {
  const { shown, seen, before, next } = makeShown();
  before.receive('a', consumerOf('a1'));
  next.receive('a', consumerOf('a2'));
  before.receive('a', consumerOf('a3'), true);
  next.receive('a', consumerOf('a4'), true);
  const followed = Promise.all([before, next].map(({ session }) => shown.follow(session, ['a'])));
  await shown.replace(next.session, 'flowing');
  await followed;
  assert.deepEqual(next.flowing, ['a']);
  assert.equal(seen().at(-1)?.endsWith('is a4'), true);
  before.end('a');
  assert.deepEqual([seen(), shown.consumer('a')], [[], next.session.consumer('a', 'latest')]);
});

test('a track continues over the second session if its successor there is only announced when the first one ends', async () => {
  const { shown, seen, before, next } = makeShown();
  for (const how of ['replaced', 'ended'] as const) {
    before.receive(how, consumerOf('first'));
    next.receive(how, consumerOf('second'));
    next.announce(how);
    if (how === 'replaced') await shown.replace(next.session, 'all');
    before.end(how);
  }
  assert.deepEqual(seen(), ['replaced is first', 'replaced was first, is second', 'ended is first', 'ended was first, is second']);
});
