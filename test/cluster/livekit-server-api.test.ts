// LiveKit's server API with its own server SDK, unmodified, at a node that does not own the room.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ListRoomsRequest, ListRoomsResponse, ParticipantInfo_State, RoomParticipantIdentity, TrackSource } from '@livekit/protocol';
import { AccessToken, DataPacket_Kind, RoomServiceClient, TwirpError } from 'livekit-server-sdk';
import { timeOf } from '../../node/rooms/ids.ts';
import { accessKey, accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { eventually } from '../kit/eventually.ts';
import { LiveKitSocket } from '../kit/livekit/livekit-socket.ts';
import { enterRoom, watchEvents } from '../kit/network/room-sockets.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { opusParameters } from '../media/kit.ts';

/** `sdk` requests the node that has no room. */
async function start(t: TestContext) {
  const both = { SVC_ACCESS_KEYS: accessKeysText, SVC_LIVEKIT_ENABLED: 'true' };
  const pair = await startNodePair(t, { both });
  const sdk = new RoomServiceClient(pair.nonOwner.url, accessKey.id, accessKey.secret);
  return { ...pair, sdk };
}

async function errorOf(request: Promise<unknown>): Promise<[status: number, code: string | undefined]> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TwirpError, String(error));
  return [error.status, error.code];
}

test('the server SDK creates, lists, changes and deletes rooms of the cluster', async (t) => {
  const { sdk, api, owner, nonOwner } = await start(t);
  const events = await watchEvents(t, nonOwner);
  const options = { name: 'lesson', emptyTimeout: 600, maxParticipants: 20, metadata: '{"topic":"maths"}' };
  const room = await sdk.createRoom(options);
  assert.match(room.sid, /^RM_/);
  assert.deepEqual([room.name, room.emptyTimeout, room.maxParticipants, room.metadata], ['lesson', 600, 20, options.metadata]);
  const { config, incarnation } = (await api.get('/room/lesson')).body.data;
  assert.equal(Number(room.creationTimeMs), timeOf(incarnation));
  assert.deepEqual([config.peerlessPurgeTimeout, config.maxPeers, config.metadata], [600, 20, { topic: 'maths' }]);

  // Repeated, it changes what it sets.
  assert.equal((await sdk.createRoom({ name: 'lesson', maxParticipants: 30 })).sid, room.sid);
  assert.deepEqual(
    (await sdk.listRooms(['lesson'])).map(({ maxParticipants, emptyTimeout }) => [maxParticipants, emptyTimeout]),
    [[30, 600]],
  );
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  assert.deepEqual((await sdk.listRooms()).map(({ name }) => name).sort(), ['lesson', 'r']);
  assert.equal((await sdk.updateRoomMetadata('r', 'open')).metadata, 'open');
  assert.equal(owner.node.parts.rooms.room('r').view().config.metadata, 'open');

  await sdk.deleteRoom('r');
  await events.waitFor('roomEvent', ({ type, roomId }) => type === 'RoomDeleted' && roomId === 'r');
  assert.deepEqual(await errorOf(sdk.deleteRoom('r')), [404, 'not_found']);
  assert.deepEqual(await errorOf(sdk.createRoom({ name: 'a b' })), [400, 'invalid_argument']);
});

test('the server SDK moderates participants, and clients of both protocols see it', async (t) => {
  const { sdk, owner, nonOwner } = await start(t);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const own = await enterRoom(t, owner, 'r', { peerId: 'own' });
  const transport = await own.request('createTransport', { direction: 'send' });
  const track = { transportId: String(transport.data?.id), kind: 'audio', rtpParameters: opusParameters('0') };
  await own.request('publish', { ...track, metadata: { source: 'microphone' } });
  const ada = await LiveKitSocket.open(
    nonOwner.url,
    await signAccessToken({ room: 'r', identity: 'ada@example.com', claims: { name: 'Ada' } }),
  );
  await ada.waitFor('join');

  const participants = await sdk.listParticipants('r');
  assert.deepEqual(participants.map(({ identity }) => identity).sort(), ['ada@example.com', 'own']);
  const { tracks, state } = await sdk.getParticipant('r', 'own');
  const [microphone] = tracks;
  assert.deepEqual([state, microphone?.source, microphone?.muted], [ParticipantInfo_State.ACTIVE, TrackSource.MICROPHONE, false]);
  const sid = microphone?.sid ?? '';
  for (const muted of [true, false]) {
    assert.equal((await sdk.mutePublishedTrack('r', 'own', sid, muted)).muted, muted);
    await ada.waitFor('update', ({ participants: changed }) => changed.some((each) => each.tracks.some((one) => one.muted === muted)));
  }
  await own.waitFor('trackPaused');

  const changes = {
    name: 'Ada L.',
    metadata: 'first',
    attributes: { role: 'host' },
    permission: { canSubscribe: false, canPublish: true },
  };
  const changed = await sdk.updateParticipant('r', 'ada@example.com', changes);
  assert.deepEqual([changed.name, changed.metadata, changed.attributes.role], ['Ada L.', 'first', 'host']);
  const sees = ({ name, permission }: { name: string; permission?: { canSubscribe: boolean } }) =>
    name === 'Ada L.' && !permission?.canSubscribe;
  await ada.waitFor('update', ({ participants: seen }) => seen.some((each) => each.identity === 'ada@example.com' && sees(each)));

  const send = (text: string, receivers?: string[]) =>
    sdk.sendData(
      'r',
      new TextEncoder().encode(text),
      DataPacket_Kind.RELIABLE,
      receivers ? { destinationIdentities: receivers, topic: 't' } : {},
    );
  await send('not for you', ['ada@example.com']);
  await send('{"for":"you"}', ['own']);
  assert.deepEqual(await own.waitFor('data', ({ label }) => label === 't'), { from: null, label: 't', payload: { for: 'you' } });
  await send('"text"');
  assert.equal((await own.waitFor('data', ({ label }) => label === '')).payload, '"text"');

  await sdk.removeParticipant('r', 'own');
  assert.equal((await own.closed).reason, 'Peer removed');
  await sdk.removeParticipant('r', 'ada@example.com');
  await ada.waitFor('leave');
  assert.deepEqual(await sdk.listParticipants('r'), []);
  assert.deepEqual(await errorOf(sdk.removeParticipant('r', 'own')), [404, 'not_found']);
  assert.deepEqual(await errorOf(sdk.forwardParticipant('r', 'own', 'other')), [501, 'unimplemented']);
});

test('the server SDK unsubscribes a participant from a track, and subscribes it again', async (t) => {
  const { sdk, owner, nonOwner } = await start(t);
  const { rooms } = owner.node.parts;
  await rooms.createRoom({ roomId: 'r' });
  const own = await enterRoom(t, owner, 'r', { peerId: 'own' });
  const { data } = await own.request('createTransport', { direction: 'send' });
  await own.request('publish', { transportId: data?.id, kind: 'audio', rtpParameters: opusParameters('0') });
  const ada = await LiveKitSocket.open(nonOwner.url, await signAccessToken({ room: 'r', identity: 'ada' }));
  const [published] = (await ada.waitFor('join')).otherParticipants;
  const sid = published?.tracks[0]?.sid ?? '';
  const [track] = rooms.room('r').peers.get('own').session.publications.tracks;
  const receives = () =>
    rooms
      .room('r')
      .peers.get('ada')
      .session.subscriptions.has(track?.id ?? '');
  await eventually('ada receives the track', receives);
  for (const subscribed of [false, true, true, false, false]) {
    await sdk.updateSubscriptions('r', 'ada', [sid], subscribed);
    assert.equal(receives(), subscribed);
  }
  assert.deepEqual(await errorOf(sdk.updateSubscriptions('r', 'ada', ['TR_other'], true)), [404, 'not_found']);
  assert.deepEqual(await errorOf(sdk.updateSubscriptions('r', 'bob', [sid], true)), [404, 'not_found']);
});

test('requests are JSON or protobuf, and need the grants of their method', async (t) => {
  const { nonOwner, owner } = await start(t);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const sign = async (video: Record<string, unknown>, identity?: string) => {
    const token = new AccessToken(accessKey.id, accessKey.secret, { ttl: '5m', ...(identity !== undefined && { identity }) });
    token.addGrant(video);
    return token.toJwt();
  };
  const request = async (method: string, token: string | undefined, body: string | Uint8Array, type = 'application/json') => {
    const response = await fetch(`${nonOwner.url}/twirp/livekit.RoomService/${method}`, {
      method: 'POST',
      headers: { 'content-type': type, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: typeof body === 'string' ? body : Buffer.from(body),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, type: response.headers.get('content-type'), bytes };
  };
  const codeOf = async (...given: Parameters<typeof request>): Promise<string> => {
    const { status, bytes } = await request(...given);
    const { code, msg } = JSON.parse(Buffer.from(bytes).toString()) as { code: string; msg: string };
    assert.ok(msg.length > 0);
    return `${status} ${code}`;
  };
  const lister = await sign({ roomList: true });
  const admin = await sign({ roomAdmin: true, room: 'r' });
  const binary = await request('ListRooms', lister, new ListRoomsRequest().toBinary(), 'application/protobuf');
  assert.deepEqual([binary.status, binary.type], [200, 'application/protobuf']);
  assert.deepEqual(
    ListRoomsResponse.fromBinary(binary.bytes).rooms.map(({ name }) => name),
    ['r'],
  );
  const json = await request('ListRooms', lister, '{}', 'application/json;charset=UTF-8');
  assert.deepEqual([json.status, JSON.parse(Buffer.from(json.bytes).toString()).rooms[0].num_participants], [200, 0]);

  assert.equal(await codeOf('ListRooms', undefined, '{}'), '401 unauthenticated');
  assert.equal(await codeOf('ListRooms', 'no.jwt', '{}'), '401 unauthenticated');
  assert.equal(await codeOf('ListRooms', admin, '{}'), '403 permission_denied');
  assert.equal(await codeOf('ListParticipants', lister, '{"room":"r"}'), '403 permission_denied');
  assert.equal(await codeOf('ListParticipants', admin, '{"room":"other"}'), '403 permission_denied');
  const participant = await sign({ roomJoin: true, roomCreate: true, roomAdmin: true, room: 'r' }, 'ada');
  assert.equal(await codeOf('DeleteRoom', participant, '{"room":"r"}'), '403 permission_denied');
  assert.equal(await codeOf('ListRooms', lister, '{'), '400 malformed');
  assert.equal(await codeOf('ListRooms', lister, '{"names":7}'), '400 malformed');
  assert.equal(await codeOf('ListRooms', lister, new Uint8Array([255]), 'application/protobuf'), '400 malformed');
  assert.equal(await codeOf('ListRooms', lister, '{}', 'text/plain'), '404 bad_route');
  assert.equal(await codeOf('ListRooms', lister, 'x'.repeat(65 * 1024)), '400 invalid_argument');
  assert.equal(await codeOf('Nothing', lister, '{}'), '404 bad_route');
  assert.equal(
    await codeOf('GetParticipant', admin, new RoomParticipantIdentity({ room: 'r', identity: 'x' }).toJsonString()),
    '404 not_found',
  );
});
