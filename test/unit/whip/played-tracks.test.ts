// Played tracks: which tracks of a room the streams of a player get.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audioAssignment, type PlayableTrack, type Speech, videoCandidates } from '../../../node/whip/played-tracks.ts';

const track = (id: string, kind: 'audio' | 'video', peerId: string, silent = false): PlayableTrack => ({
  id,
  kind,
  origin: { peerId },
  silent,
});
const ofComponent = (id: string, kind: 'audio' | 'video'): PlayableTrack => ({ id, kind, origin: { componentId: 'file' }, silent: false });
const speech = (speaker: string | null, ...levels: string[]): Speech => ({
  speaker,
  levels: levels.map((peerId) => ({ peerId, level: -20 })),
});

test('video follows the active speaker, and stays with it until another peer with video speaks', () => {
  const tracks = [ofComponent('film', 'video'), track('a', 'video', 'ada'), track('b', 'video', 'bob'), track('c', 'video', 'cleo', true)];
  const first = (now: Speech, current?: string) => videoCandidates(tracks, { video: 'speaker', speech: now, current })[0]?.id;
  assert.equal(first(speech('ada')), 'a');
  assert.equal(first(speech('bob'), 'a'), 'b');
  assert.equal(first(speech(null), 'a'), 'a');
  // Paused video, and no video.
  assert.equal(first(speech('cleo'), 'a'), 'a');
  assert.equal(first(speech('dan'), 'b'), 'b');
  assert.equal(first(speech(null)), 'b');
  assert.deepEqual(
    videoCandidates([ofComponent('film', 'video')], { video: 'speaker', speech: speech(null), current: undefined }).length,
    1,
  );
});

test('video of one peer is the track that it published last', () => {
  const tracks = [track('camera', 'video', 'ada'), track('screen', 'video', 'ada'), track('b', 'video', 'bob')];
  const ids = (video: string) => videoCandidates(tracks, { video, speech: speech('bob'), current: 'b' }).map(({ id }) => id);
  assert.deepEqual(ids('ada'), ['screen', 'camera']);
  assert.deepEqual(ids('cleo'), []);
});

test('audio streams get the loudest peers, then components, and keep their tracks if possible', () => {
  const tracks = ['a', 'b', 'c', 'd'].map((id) => track(id, 'audio', `peer-${id}`));
  const assigned = (current: (string | undefined)[], now: Speech, all: PlayableTrack[] = tracks) =>
    audioAssignment(all, { speech: now, current });
  const none = [undefined, undefined, undefined];
  assert.deepEqual(assigned(none, speech(null)), ['a', 'b', 'c']);
  assert.deepEqual(assigned(['a', 'b', 'c'], speech(null)), ['a', 'b', 'c']);
  assert.deepEqual(assigned(['a', 'b', 'c'], speech('peer-d', 'peer-c')), ['a', 'd', 'c']);
  assert.deepEqual(assigned(['a', 'd', 'c'], speech(null)), ['a', 'd', 'c']);
  assert.deepEqual(assigned(['d'], speech('peer-b', 'peer-d')), ['b']);
  assert.deepEqual(assigned(['b'], speech(null)), ['b']);
  const film = ofComponent('film', 'audio');
  assert.deepEqual(assigned(['a', 'b', 'c'], speech('peer-a'), [...tracks, film]), ['a', 'b', 'film']);
  assert.deepEqual(assigned(none, speech(null), [track('muted', 'audio', 'ada', true)]), none);
});
