// LiveKit clients with one peer connection, on fake media: what they state in the address of their websocket, and the sections of their offers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AddTrackRequest, ClientInfo, ClientInfo_SDK, ConnectionSettings, Ping, SyncState, WrappedJoinRequest } from '@livekit/protocol';
import { parse } from 'sdp-transform';
import { ServiceError } from '../../../api/errors.ts';
import type { Kind } from '../../../api/track.ts';
import { trackSid } from '../../../node/livekit/ids.ts';
import { readJoinRequest } from '../../../node/livekit/join-request.ts';
import { connectPeer } from '../../kit/fakes/rooms.ts';
import { joinRequestText, type LiveKitSocket } from '../../kit/livekit/livekit-socket.ts';
import { startLiveKitSockets } from '../../kit/livekit/livekit-sockets.ts';
import { receivingOffer } from '../../kit/livekit/receiving-offer.ts';

/** A room with a peer that publishes. */
async function start(t: Parameters<typeof startLiveKitSockets>[0]) {
  const started = await startLiveKitSockets(t);
  await started.rooms.addPeer('room', { type: 'webrtc', peerId: 'own' });
  const { peer, send } = await connectPeer(started.rooms, 'room', 'own');
  const publish = (trackId: string, kind: Kind) =>
    peer.session.publications.publish({ transportId: send, trackId, kind, rtpParameters: {}, paused: false });
  return { ...started, publish, publications: peer.session.publications };
}

type Answered = { sids: Record<string, string>; directions: Record<string, string | undefined>; ssrc: (mid: string) => unknown };

async function answered(client: LiveKitSocket, id: number): Promise<Answered> {
  const answer = await client.waitFor('answer');
  assert.deepEqual([answer.type, answer.id], ['answer', id]);
  const { media } = parse(answer.sdp);
  return {
    sids: answer.midToTrackId,
    directions: Object.fromEntries(media.map(({ mid, direction }) => [mid, direction])),
    ssrc: (wanted) => media.find(({ mid }) => String(mid) === wanted)?.ssrcs?.[0]?.id,
  };
}

test('a client with one peer connection gets the room, and its offer is answered with the tracks of the room', async (t) => {
  const { openSingle, publish, peer } = await start(t);
  await publish('voice', 'audio');
  await publish('camera', 'video');
  const ada = await openSingle('ada', { publisherOffer: receivingOffer(['audio', 'audio', 'video', 'video'], 7) });
  assert.equal((await ada.waitFor('join')).subscriberPrimary, false);
  const { sids, directions } = await answered(ada, 7);
  assert.deepEqual(sids, { 1: trackSid('voice'), 3: trackSid('camera') });
  assert.deepEqual(directions, { 0: undefined, 1: 'sendonly', 2: 'inactive', 3: 'sendonly', 4: 'inactive' });
  assert.equal(peer('ada').session.subscriptions.size, 2);
  // Tracks that come later need no further section.
  await publish('screen', 'video');
  const { numAudios, numVideos } = await ada.waitFor('mediaSectionsRequirement');
  assert.deepEqual([numAudios, numVideos], [0, 0]);
  ada.send({ case: 'offer', value: receivingOffer(['audio', 'audio', 'video', 'video'], 8) });
  assert.deepEqual((await answered(ada, 8)).sids, { 1: trackSid('voice'), 3: trackSid('camera'), 4: trackSid('screen') });
});

test('a client is requested to offer more sections, and a section is used again after its track has ended, with another SSRC', async (t) => {
  const { openSingle, publish, publications } = await start(t);
  for (const name of ['first', 'second', 'third']) await publish(name, 'video');
  const ada = await openSingle('ada', { publisherOffer: receivingOffer(['video']) });
  const first = await answered(ada, 1);
  assert.deepEqual(first.sids, { 1: trackSid('first') });
  const { numAudios, numVideos } = await ada.waitFor('mediaSectionsRequirement');
  assert.deepEqual([numAudios, numVideos], [0, 2]);
  const offer = (id: number) => ada.send({ case: 'offer', value: receivingOffer(['video', 'video', 'video'], id) });
  offer(2);
  assert.deepEqual(Object.keys((await answered(ada, 2)).sids), ['1', '2', '3']);

  publications.removeTrack('first', 'publisher');
  await ada.waitFor('mediaSectionsRequirement');
  offer(3);
  assert.equal((await answered(ada, 3)).directions[1], 'inactive');
  await publish('fourth', 'video');
  await ada.waitFor('mediaSectionsRequirement');
  offer(4);
  const again = await answered(ada, 4);
  assert.equal(again.sids[1], trackSid('fourth'));
  assert.notEqual(again.ssrc('1'), first.ssrc('1'));
});

test('a client that offers no section for a track is requested once', async (t) => {
  const { openSingle, publish } = await start(t);
  await publish('camera', 'video');
  const ada = await openSingle('ada', { publisherOffer: receivingOffer(['audio']) });
  assert.deepEqual((await answered(ada, 1)).sids, {});
  assert.equal((await ada.waitFor('mediaSectionsRequirement')).numVideos, 1);
  for (const id of [2, 3]) {
    ada.send({ case: 'offer', value: receivingOffer(['audio'], id) });
    await answered(ada, id);
  }
  ada.send({ case: 'pingReq', value: new Ping() });
  await ada.waitFor('pongResp');
  assert.equal(ada.messages.filter((message) => message.case === 'mediaSectionsRequirement').length, 1);
});

test('an offer may have 256 sections', async (t) => {
  const { openSingle } = await start(t);
  const ada = await openSingle('ada', {});
  await ada.waitFor('join');
  ada.send({ case: 'offer', value: receivingOffer(Array.from({ length: 255 }, () => 'video')) });
  assert.equal(Object.keys((await answered(ada, 1)).directions).length, 256);
});

test('a client may offer after it has joined, publishes in the same connection, and resumes', async (t) => {
  const { openSingle, publish, peer } = await start(t);
  await publish('voice', 'audio');
  const addTrackRequests = [new AddTrackRequest({ cid: 'c', type: 0, source: 2 })];
  const ada = await openSingle('ada', { addTrackRequests, connectionSettings: new ConnectionSettings({ autoSubscribe: false }) });
  const { participant } = await ada.waitFor('join');
  assert.equal((await ada.waitFor('trackPublished')).cid, 'c');
  ada.send({ case: 'offer', value: receivingOffer(['audio'], 5) });
  assert.deepEqual((await answered(ada, 5)).sids, {});
  assert.equal(peer('ada').session.subscriptions.size, 0);
  ada.webSocket.terminate();
  await ada.closed;
  const syncState = new SyncState({ subscription: { trackSids: [trackSid('voice')], subscribe: true } });
  const resumed = await openSingle('ada', { reconnect: true, participantSid: participant?.sid ?? '', syncState });
  await resumed.waitFor('reconnect');
  await resumed.waitFor('mediaSectionsRequirement');
  resumed.send({ case: 'offer', value: receivingOffer(['audio'], 6) });
  assert.deepEqual((await answered(resumed, 6)).sids, { 1: trackSid('voice') });
});

test('the join request of an address is read within bounds', () => {
  const read = readJoinRequest(joinRequestText({ clientInfo: new ClientInfo({ sdk: ClientInfo_SDK.RUST }) }));
  assert.deepEqual(read, { reconnect: false, sid: '', autoSubscribe: true, sdk: 'RUST', requests: [] });
  const bomb = new WrappedJoinRequest({ joinRequest: gzipSync(Buffer.alloc(10_000_000)), compression: 1 }).toBinary();
  const many = Array.from({ length: 100 }, () => new AddTrackRequest({ cid: 'c' }));
  for (const text of [Buffer.from(bomb).toString('base64url'), 'AAAA', joinRequestText({ addTrackRequests: many })])
    assert.throws(
      () => readJoinRequest(text),
      (error) => error instanceof ServiceError && error.code === 'bad_request',
      text.slice(0, 20),
    );
});
