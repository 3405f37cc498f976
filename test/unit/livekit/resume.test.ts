// Sessions of LiveKit clients: what a client that resumes gets again, and what clients do when their session or socket ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AddTrackRequest,
  DisconnectReason,
  LeaveRequest_Action,
  Ping,
  SyncState,
  TrackInfo,
  UpdateParticipantMetadata,
  UpdateSubscription,
} from '@livekit/protocol';
import { livekitLimits } from '../../../node/livekit/limits.ts';
import { refusalCause } from '../../../node/livekit/messages.ts';
import { signAccessToken } from '../../kit/access-tokens.ts';
import { eventually } from '../../kit/eventually.ts';
import { joinPeer } from '../../kit/fakes/rooms.ts';
import { LiveKitSocket } from '../../kit/livekit/livekit-socket.ts';
import { publishVideo, startLiveKitSockets } from '../../kit/livekit/livekit-sockets.ts';

type Client = Awaited<ReturnType<Awaited<ReturnType<typeof startLiveKitSockets>>['join']>>;

/** Ends the socket of a client without a closing handshake. @returns the query with which it resumes */
async function cut({ webSocket, closed, joined }: Client): Promise<Record<string, string>> {
  webSocket.terminate();
  await closed;
  return { reconnect: '1', sid: joined.participant?.sid ?? '' };
}

test('a client that resumes gets again what it may have missed about its tracks', async (t) => {
  const { join, open, peer, rooms } = await startLiveKitSockets(t, { limits: { ...livekitLimits, pauseDelay: 10 } });
  const ada = await join('ada');
  const sid = await publishVideo(ada);
  const [track] = peer('ada').session.publications.tracks;
  const { peer: own, connection } = await joinPeer(rooms, 'room', 'own');
  await eventually('the track is subscribed', () => connection.of('trackSubscribed').length === 1);
  await own.session.subscriptions.ready(track?.id ?? '');
  peer('ada').session.connection.layerNeeded?.(track?.id ?? '', undefined);
  await ada.waitFor('subscribedQualityUpdate');
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'announced', type: 0 }) });
  const announced = (await ada.waitFor('trackPublished')).track?.sid;
  const query = await cut(ada);
  await peer('ada').session.publications.setMuted(track?.id ?? '', true);

  const resumed = await open('ada', query);
  assert.equal((await resumed.waitFor('trackSubscribed')).trackSid, sid);
  assert.deepEqual({ ...(await resumed.waitFor('mute')) }, { sid, muted: true });
  const published = await resumed.waitFor('trackPublished');
  assert.deepEqual([published.cid, published.track?.sid], ['announced', announced]);
  const { trackSid, subscribedQualities } = await resumed.waitFor('subscribedQualityUpdate');
  assert.deepEqual([trackSid, subscribedQualities.some(({ enabled }) => enabled)], [sid, false]);
});

test('the state of a client that resumes counts: its subscriptions, tracks that it does not show, and tracks that it sends', async (t) => {
  const { join, open, peer } = await startLiveKitSockets(t);
  const [ada, bob, carol] = [await join('ada'), await join('bob'), await join('carol')];
  const trackSid = await publishVideo(ada);
  const [track] = peer('ada').session.publications.tracks;
  const id = track?.id ?? '';
  const receives = (name: string) => peer(name).session.subscriptions.has(id);
  await eventually('both receive it', () => receives('bob') && receives('carol'));
  const resume = async (client: Client, name: string, state: ConstructorParameters<typeof SyncState>[0]) => {
    const resumed = await open(name, await cut(client));
    await resumed.waitFor('reconnect');
    resumed.send({ case: 'syncState', value: new SyncState(state) });
    // Requests are handled in order.
    resumed.send({ case: 'updateMetadata', value: new UpdateParticipantMetadata({ name }) });
    await resumed.waitFor('requestResponse');
    return resumed;
  };
  await resume(bob, 'bob', { subscription: new UpdateSubscription({ trackSids: [trackSid], subscribe: false }) });
  assert.deepEqual([receives('bob'), receives('carol')], [false, true]);
  const hidden = await resume(carol, 'carol', { trackSidsDisabled: [trackSid] });
  // Of a video that the client does not show, nothing is sent, which is no news for it.
  peer('carol').session.send({ event: 'layersChanged', data: { trackId: id, layers: null } });
  hidden.send({ case: 'pingReq', value: new Ping() });
  await hidden.waitFor('pongResp');
  assert.ok(hidden.messages.every((message) => message.case !== 'streamStateUpdate'));

  const query = await cut(ada);
  peer('ada').session.publications.removeTrack(id);
  const again = await open('ada', query);
  await again.waitFor('reconnect');
  again.send({ case: 'syncState', value: new SyncState({ publishTracks: [{ cid: 'c', track: new TrackInfo({ sid: trackSid }) }] }) });
  assert.equal((await again.waitFor('trackUnpublished')).trackSid, trackSid);
});

test('a client leaves for good when its room is deleted, and joins again when the node ends', async (t) => {
  const deleted = await startLiveKitSockets(t);
  const ada = await deleted.join('ada');
  await deleted.rooms.deleteRoom('room');
  const ended = await ada.waitFor('leave');
  assert.deepEqual([ended.action, ended.reason], [LeaveRequest_Action.DISCONNECT, DisconnectReason.ROOM_DELETED]);
  const ending = await startLiveKitSockets(t);
  const bob = await ending.join('bob');
  const closing = ending.sockets.close();
  const left = await bob.waitFor('leave');
  assert.deepEqual([left.action, left.reason], [LeaveRequest_Action.RECONNECT, DisconnectReason.SERVER_SHUTDOWN]);
  await closing;
});

test('a client joins again if its room was lost, and not if the room does not exist', async (t) => {
  const { url } = await startLiveKitSockets(t);
  const token = await signAccessToken({ identity: 'ada', room: 'lost' });
  const leave = async (query: Record<string, string>) => {
    const { action, reason } = await (await LiveKitSocket.open(url, token, query)).waitFor('leave');
    return [action, reason];
  };
  assert.deepEqual(await leave({ reconnect: '1', sid: 'PA_lost' }), [LeaveRequest_Action.RECONNECT, DisconnectReason.SERVER_SHUTDOWN]);
  assert.deepEqual(await leave({}), [LeaveRequest_Action.DISCONNECT, DisconnectReason.JOIN_FAILURE]);
});

test('a client that joins again automatically gets the room at once, and later events after a delay', async (t) => {
  const again = async (rejoinHold: number) => {
    const { join, url, rooms } = await startLiveKitSockets(t, { limits: { ...livekitLimits, rejoinHold } });
    const token = await (await join('ada')).waitFor('refreshToken');
    await joinPeer(rooms, 'room', 'bob');
    const ada = await LiveKitSocket.open(url, token, { sdk: 'js' });
    assert.deepEqual(
      (await ada.waitFor('join')).otherParticipants.map(({ identity }) => identity),
      ['bob'],
    );
    await ada.waitFor('offer');
    await joinPeer(rooms, 'room', 'carol');
    return ada;
  };
  const holds = await again(60_000);
  holds.send({ case: 'pingReq', value: new Ping() });
  await holds.waitFor('pongResp');
  const held = () => holds.messages.some((message) => message.case === 'update' && message.value.participants[0]?.identity === 'carol');
  assert.equal(held(), false);
  assert.ok(holds.messages.every((message) => message.case !== 'refreshToken'));
  const released = await again(1);
  await released.waitFor('update', ({ participants }) => participants[0]?.identity === 'carol');
});

test('the cause of a refusal depends on the error, and on whether the client was in the room', () => {
  const causes = [
    ['unavailable', true, false, 'resumeFailed'],
    ['unavailable', true, true, 'resumeFailed'],
    ['room_not_found', false, false, 'joinFailed'],
    ['room_not_found', false, true, 'roomMoved'],
    ['room_ended', false, false, 'joinFailed'],
    ['room_ended', false, true, 'roomStopped'],
    ['room_full', false, true, 'joinFailed'],
  ] as const;
  for (const [code, retryable, resuming, cause] of causes) assert.equal(refusalCause({ code, retryable }, resuming), cause);
});
