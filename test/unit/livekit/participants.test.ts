// Participants as LiveKit clients see them: metadata, tracks, layers and the roster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Encryption_Type, ParticipantInfo_Kind, TrackSource } from '@livekit/protocol';
import { permissionsSchema } from '../../../api/peer.ts';
import type { TrackView } from '../../../api/track.ts';
import { trackSid } from '../../../node/livekit/ids.ts';
import { spatialLayer } from '../../../node/livekit/media/simulcast.ts';
import { metadataOf, namesOf, participantInfo, peerParticipant, trackInfo } from '../../../node/livekit/participants.ts';
import { Roster } from '../../../node/livekit/roster.ts';

const track = (changes: Partial<TrackView> = {}): TrackView => ({
  ...{ id: 'video', type: 'video', metadata: null, encoding: 'vp8', simulcast: true, paused: false, muted: false, encrypted: false },
  ...changes,
});

for (const [metadata, name, text] of [
  [null, '', ''],
  [{ name: 'Ada' }, 'Ada', ''],
  [{ name: 'Ada', value: 'text' }, 'Ada', 'text'],
  [{ name: 'Ada', role: 'host' }, 'Ada', '{"role":"host"}'],
  [{ role: 'host' }, '', '{"role":"host"}'],
  ['text', '', 'text'],
] as const) {
  test(`the metadata ${JSON.stringify(metadata)} is the name "${name}" and the text "${text}", and back`, () => {
    assert.deepEqual(namesOf(metadata), { name, metadata: text });
    assert.deepEqual(metadataOf({ name, metadata: text }), metadata);
  });
}

test('tracks have the source of their metadata, or that of their kind', () => {
  assert.equal(trackInfo(track({ metadata: { source: 'screen', width: 1920, height: 1080, name: 's' } })).source, TrackSource.SCREEN_SHARE);
  assert.equal(trackInfo(track()).source, TrackSource.CAMERA);
  assert.equal(trackInfo(track({ type: 'audio', encoding: 'opus' })).source, TrackSource.MICROPHONE);
  assert.equal(trackInfo(track({ metadata: { source: 'other', width: -1 } })).source, TrackSource.UNKNOWN);
  assert.deepEqual([trackInfo(track({ muted: true })).muted, trackInfo(track()).mimeType], [true, 'video/VP8']);
});

test('an encrypted track is said to be, in the form of its publisher', () => {
  const encryptionOf = (changes: Partial<TrackView>) => trackInfo(track(changes)).encryption;
  assert.deepEqual(
    [encryptionOf({}), encryptionOf({ encrypted: true, metadata: { encryption: 'gcm' } }), encryptionOf({ encrypted: true })],
    [Encryption_Type.NONE, Encryption_Type.GCM, Encryption_Type.CUSTOM],
  );
  assert.equal(encryptionOf({ metadata: { encryption: 'gcm' } }), Encryption_Type.NONE);
});

for (const [permissions, sources] of [
  [{}, []],
  [{ publish: ['audio'] }, [TrackSource.MICROPHONE, TrackSource.SCREEN_SHARE_AUDIO]],
  [{ publishSources: ['camera', 'screenSound'] }, [TrackSource.CAMERA, TrackSource.SCREEN_SHARE_AUDIO]],
  [{ publish: ['video'], publishSources: ['camera', 'microphone'] }, [TrackSource.CAMERA]],
] as const) {
  test(`the permissions ${JSON.stringify(permissions)} are the sources ${JSON.stringify(sources)}; none are all`, () => {
    const participant = peerParticipant({ id: 'a', metadata: null, tracks: [] }, 'a');
    const info = participantInfo(participant, 1, permissionsSchema.parse(permissions));
    assert.deepEqual([info.permission?.canPublish, info.permission?.canPublishSources], [true, sources]);
  });
}

test('media streams have ids of at most 64 characters', () => {
  const { sid } = peerParticipant({ id: 'x'.repeat(128), metadata: null, tracks: [] }, 'x');
  assert.ok(`${sid}|${trackSid('y'.repeat(128))}`.length <= 64);
});

for (const [wanted, layer] of [
  [{ width: 0, height: 0, quality: 0 }, 0],
  [{ width: 0, height: 0, quality: 2 }, 2],
  [{ width: 1280, height: 720, quality: 0 }, 2],
  [{ width: 641, height: 360, quality: 0 }, 2],
  [{ width: 640, height: 360, quality: 0 }, 1],
  [{ width: 320, height: 180, quality: 0 }, 0],
  [{ width: 90, height: 160, quality: 0 }, 0],
] as const) {
  test(`of a track of 1280x720, ${wanted.width}x${wanted.height} at quality ${wanted.quality} is layer ${layer}`, () => {
    assert.equal(spatialLayer(track({ metadata: { width: 1280, height: 720 } }), wanted), layer);
  });
}

test('the roster follows the events of the room', () => {
  const roster = new Roster(
    (id) => `user ${id}`,
    (id) => id === 'robot',
  );
  roster.fill({
    peers: [
      { id: 'a', metadata: null, tracks: [track()] },
      { id: 'robot', metadata: null, tracks: [] },
    ],
    components: [{ id: 'c', type: 'sip', state: 'running', tracks: [] }],
  });
  assert.deepEqual(
    roster.all.map(({ identity, kind }) => [identity, kind]),
    [
      ['user a', ParticipantInfo_Kind.STANDARD],
      ['user robot', ParticipantInfo_Kind.AGENT],
      ['c', ParticipantInfo_Kind.SIP],
    ],
  );
  assert.equal(roster.trackId(trackSid('video')), 'video');
  const paused = roster.apply({ event: 'trackPaused', data: { trackId: 'video', by: 'server' } });
  assert.equal(paused?.participant.tracks[0]?.muted, true);
  const added = roster.apply({ event: 'trackAdded', data: { componentId: 'c', track: track({ id: 'call', type: 'audio' }) } });
  assert.equal(added && participantInfo(added.participant, 1).isPublisher, true);
  assert.deepEqual(roster.apply({ event: 'trackRemoved', data: { peerId: 'a', trackId: 'video' } })?.participant.tracks, []);
  const recording = { id: 'rec', type: 'recording' as const, state: 'running' as const, tracks: [] };
  assert.deepEqual([roster.apply({ event: 'componentAdded', data: { component: recording } }), roster.recorded], [undefined, true]);
  assert.deepEqual([roster.apply({ event: 'componentRemoved', data: { componentId: 'rec' } }), roster.recorded], [undefined, false]);
  assert.equal(roster.apply({ event: 'peerLeft', data: { peerId: 'a' } })?.left, true);
  assert.equal(roster.apply({ event: 'peerLeft', data: { peerId: 'a' } }), undefined);
  assert.equal(roster.apply({ event: 'activeSpeaker', data: { peerId: null } }), undefined);
});
