// Backup codecs of LiveKit clients: what a client is requested to publish, and how it does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddTrackRequest, SessionDescription, VideoQuality } from '@livekit/protocol';
import { livekitLimits } from '../../../node/livekit/limits.ts';
import { flushEvents, joinPeer } from '../../kit/fakes/rooms.ts';
import { startLiveKitSockets } from '../../kit/livekit/livekit-sockets.ts';
import { offers } from '../../kit/media/sdp-offers.ts';

/** The offer of Chromium with a second video. */
function withBackup(cid: string): string {
  const video = offers.chromium.slice(offers.chromium.indexOf('m=video'));
  const second = video.replace('a=mid:1', 'a=mid:2').replace(/a=msid:.*/, `a=msid:- ${cid}`);
  return `${offers.chromium.replace('BUNDLE 0 1', 'BUNDLE 0 1 2')}${second}`;
}

async function start(t: Parameters<typeof startLiveKitSockets>[0], codecs: readonly string[], encryption = 0) {
  const made = await startLiveKitSockets(t, { limits: { ...livekitLimits, pauseDelay: 10 } });
  made.room.decodesBackups = true;
  const ada = await made.join('ada');
  const simulcastCodecs = codecs.map((codec, index) => ({ codec, cid: index === 0 ? 'c' : '' }));
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'c', type: 1, source: 1, simulcastCodecs, encryption }) });
  const { track } = await ada.waitFor('trackPublished');
  const offer = async (sdp: string, id: number) => {
    ada.send({ case: 'offer', value: new SessionDescription({ type: 'offer', sdp, id }) });
    await ada.waitFor('answer');
    await flushEvents();
  };
  await offer(offers.chromium, 1);
  const own = await joinPeer(made.rooms, 'room', 'own');
  await flushEvents();
  return { ...made, ada, own, sid: track?.sid ?? '', offer };
}

test('a client publishes its backup codec when a receiver cannot decode the first one', async (t) => {
  const { ada, own, room, sid, offer, peer } = await start(t, ['vp9', 'vp8']);
  const request = await ada.waitFor('subscribedQualityUpdate', ({ subscribedCodecs }) =>
    Boolean(subscribedCodecs[1]?.qualities.some(({ enabled }) => enabled)),
  );
  assert.equal(request.trackSid, sid);
  assert.deepEqual(
    request.subscribedCodecs.map(({ codec }) => codec),
    ['vp9', 'vp8'],
  );
  ada.send({
    case: 'addTrack',
    value: new AddTrackRequest({ cid: 'second', type: 1, sid, simulcastCodecs: [{ codec: 'vp8', cid: 'second' }] }),
  });
  const published = await ada.waitFor('trackPublished');
  assert.deepEqual([published.cid, published.track?.sid], ['second', sid]);
  await offer(withBackup('second'), 2);
  const tracks = [...peer('ada').session.publications.tracks];
  assert.equal(tracks.length, 1);
  const { id = '', backup } = tracks[0] ?? {};
  assert.equal(room.producers.get(backup?.id ?? '')?.backupOf, id);
  assert.equal(own.connection.of('trackSubscribed').length, 1);

  peer('ada').session.connection.layerNeeded?.(backup?.id ?? '', 0);
  const { subscribedCodecs } = await ada.waitFor('subscribedQualityUpdate', ({ subscribedCodecs: [, second] }) =>
    Boolean(second?.qualities.some(({ enabled }) => !enabled)),
  );
  const enabled = subscribedCodecs[1]?.qualities.flatMap((each) => (each.enabled ? VideoQuality[each.quality] : []));
  assert.deepEqual(enabled, ['LOW']);
  ada.send({
    case: 'offer',
    value: new SessionDescription({ type: 'offer', sdp: withBackup('second').replaceAll('sendonly', 'inactive'), id: 3 }),
  });
  await ada.waitFor('answer');
  assert.equal(room.producers.size, 0);
});

test('a client is not requested to publish a codec that the room does not have, or of an encrypted track', async (t) => {
  for (const [codecs, encryption] of [
    [['vp9', 'h265'], 0],
    [['vp9', 'vp8'], 1],
    [['vp9'], 0],
  ] as const) {
    const { own, peer } = await start(t, codecs, encryption);
    const [track] = peer('ada').session.publications.tracks;
    assert.deepEqual([track?.backup, own.connection.of('trackNotSupported').length], [undefined, 1]);
  }
});

test('a backup of a track that does not exist is rejected, and one that cannot be published leaves its track', async (t) => {
  const { ada, sid, peer, offer } = await start(t, ['vp9', 'vp8']);
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'other', type: 1, sid: 'TR_other' }) });
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'second', type: 1, sid }) });
  assert.equal((await ada.waitFor('trackPublished')).cid, 'second');
  peer('ada').session.publications.removeTrack([...peer('ada').session.publications.tracks][0]?.id ?? '');
  await ada.waitFor('trackUnpublished');
  await offer(withBackup('second'), 2);
  assert.deepEqual([...peer('ada').session.publications.tracks], []);
});
