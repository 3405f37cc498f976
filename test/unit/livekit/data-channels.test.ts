// Data of LiveKit clients on fake media: packets between them, and messages with other peers.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  DataPacket,
  DataStream_ByteHeader,
  DataStream_Chunk,
  DataStream_Header,
  DataStream_TextHeader,
  DataStream_Trailer,
  RpcAck,
  RpcError,
  RpcRequest,
  RpcResponse,
  Transcription,
  UserPacket,
} from '@livekit/protocol';
import { pino } from 'pino';
import type { PeerEvent } from '../../../api/socket/peer-events.ts';
import type { Log } from '../../../node/common/log.ts';
import { DataChannels, isDataEvent, type RelayedPacket } from '../../../node/livekit/data/data-channels.ts';
import type { MessageChannelListener } from '../../../node/rooms/interfaces.ts';
import { connectPeer, flushEvents, makeRoom } from '../../kit/fakes/rooms.ts';
import { ByteFuzzer } from '../../kit/fuzzer.ts';
import { silentLog } from '../../kit/silent-log.ts';

/** Two LiveKit clients, ada and bob, and a peer `own` with the client library. */
async function start(t: TestContext, log: Log = silentLog(), agent?: 'bob') {
  const { rooms, events } = await makeRoom();
  const sent: { to: string; label: string; packet: DataPacket }[] = [];
  const open = async (peerId: string) => {
    await rooms.addPeer('r', { type: 'webrtc', peerId });
    const { peer, connection } = await connectPeer(rooms, 'r', peerId);
    const { session } = peer;
    const received = Promise.withResolvers<MessageChannelListener>();
    t.mock.method(session.media.data, 'openMessageChannels', async (_: unknown, listener: MessageChannelListener) => {
      received.resolve(listener);
      return { send: (label: string, message: Buffer) => sent.push({ to: peerId, label, packet: DataPacket.fromBinary(message) }) > 0 };
    });
    const data = new DataChannels({
      ...{ log, room: session, peerId, sid: `PA_${peerId}`, identity: `user ${peerId}`, agent: peerId === agent },
      trackOf: (sid) => (sid === 'TR_x' ? 'x' : undefined),
      identityOf: (id) => `user ${id}`,
      peerOf: (identity) => /^user (ada|bob|own)$/.exec(identity)?.[1],
      getsPackets: (id) => id !== 'own',
    });
    await data.open();
    Object.assign(connection, {
      relayed: (packet: object) => data.relayed(packet as RelayedPacket),
      send: (event: PeerEvent) => isDataEvent(event) && data.received(event),
    });
    return { data, peer, receive: (await received.promise).message };
  };
  const [ada, bob] = [await open('ada'), await open('bob')];
  await rooms.addPeer('r', { type: 'webrtc', peerId: 'own' });
  const { connection: own, peer: ownPeer } = await connectPeer(rooms, 'r', 'own');
  return { ada, bob, own, ownPeer, sent, events };
}

const packetOf = (init: ConstructorParameters<typeof DataPacket>[0]) => Buffer.from(new DataPacket(init).toBinary());
const message = (payload: Uint8Array, topic: string) => ({ case: 'user' as const, value: new UserPacket({ payload, topic }) });
let sequence = 0;
const user = (payload: Uint8Array, topic: string, destinationIdentities: string[] = []) => {
  sequence += 1;
  return packetOf({ value: message(payload, topic), destinationIdentities, sequence });
};

test('a packet reaches other LiveKit clients unchanged with its sender, and other peers as a message', async (t) => {
  const { ada, own, sent } = await start(t);
  ada.receive('_reliable', user(Buffer.from('{"a":1}'), 'json'));
  ada.receive('_lossy', user(Buffer.of(0xff, 0xfe), 'bytes'));
  assert.deepEqual(
    sent.map(({ to, label, packet }) => [to, label, packet.participantIdentity, packet.participantSid, packet.sequence]),
    [
      ['bob', '_reliable', 'user ada', 'PA_ada', sequence - 1],
      ['bob', '_lossy', 'user ada', 'PA_ada', sequence],
    ],
  );
  assert.deepEqual(own.of('data'), [
    { from: 'ada', label: 'json', payload: { a: 1 } },
    { from: 'ada', label: 'bytes', payload: { base64: '//4=' } },
  ]);
});

test('reliable packets that a client repeats after a resume are relayed once', async (t) => {
  const { ada, own, sent } = await start(t);
  assert.equal(ada.data.lastSequence, 0);
  const packets = ['1', '2', '3'].map((text) => user(Buffer.from(text), 't'));
  for (const index of [0, 1, 0, 1, 2]) ada.receive('_reliable', packets[index] as Buffer);
  assert.equal(ada.data.lastSequence, sequence);
  assert.deepEqual(
    own.of('data').map(({ payload }) => payload),
    [1, 2, 3],
  );
  assert.equal(sent.length, 3);
  // Lossy packets have numbers of another series.
  ada.receive('_lossy', packets[0] as Buffer);
  assert.equal(sent.length, 4);
});

test('a packet for some participants reaches only these, and a packet that is no message only LiveKit clients', async (t) => {
  const { ada, own, sent } = await start(t);
  ada.receive('_reliable', user(Buffer.from('x'), 't', ['user unknown']));
  ada.receive('_reliable', user(Buffer.from('x'), 't', ['user bob']));
  const inMessage = new UserPacket({ payload: Buffer.from('x'), destinationIdentities: ['user unknown'] });
  ada.receive('_reliable', packetOf({ value: { case: 'user', value: inMessage } }));
  ada.receive('_reliable', packetOf({ value: { case: 'rpcRequest', value: { id: '1' } as never } }));
  ada.receive('_other', user(Buffer.from('x'), 't'));
  ada.receive('_reliable', Buffer.of(0xff));
  ada.receive('_reliable', Buffer.alloc(64 * 1024 + 1));
  assert.deepEqual(
    sent.map(({ to, packet }) => [to, packet.value.case]),
    [
      ['bob', 'user'],
      ['bob', 'rpcRequest'],
    ],
  );
  assert.deepEqual(own.of('data'), []);
});

test('a message of another peer, and of the server, becomes a packet', async (t) => {
  const { ada, sent } = await start(t);
  ada.data.received({ event: 'data', data: { from: 'own', label: 'l', payload: { b: 2 } } });
  ada.data.received({ event: 'data', data: { from: null, label: 'l', payload: 'text' } });
  ada.data.received({ event: 'data', data: { from: 'bob', label: 'l', payload: 'repeated' } });
  assert.deepEqual(
    sent.map(({ packet: { participantIdentity, value } }) => [
      participantIdentity,
      value.case === 'user' && Buffer.from(value.value.payload).toString(),
      value.case === 'user' && value.value.topic,
    ]),
    [
      ['user own', '{"b":2}', 'l'],
      ['', 'text', 'l'],
    ],
  );
});

const rpc = (init: ConstructorParameters<typeof RpcRequest>[0]) =>
  packetOf({ value: { case: 'rpcRequest', value: new RpcRequest({ version: 1, ...init }) }, destinationIdentities: ['user own'] });
/** Cases and texts of the packets that a client received. */
const shown = (sent: readonly { to: string; packet: DataPacket }[], receiver: string) =>
  sent
    .filter(({ to }) => to === receiver)
    .map(({ packet: { participantIdentity, value } }) => {
      if (value.case === 'rpcRequest') return [value.case, participantIdentity, value.value.payload];
      if (value.case !== 'rpcResponse') return [value.case, participantIdentity];
      const outcome = value.value.value;
      return [value.case, participantIdentity, outcome.case === 'error' ? outcome.value.code : outcome.value];
    });

test('a LiveKit client requests an RPC of a peer with another client, which responds', async (t) => {
  const { ada, own, ownPeer, sent } = await start(t);
  ada.receive('_reliable', rpc({ id: '1', method: 'm', payload: '{"a":1}', responseTimeoutMs: 5_000 }));
  const [requested] = own.of('rpcRequested');
  assert.deepEqual([requested?.from, requested?.method, requested?.payload], ['ada', 'm', { a: 1 }]);
  ownPeer.session.respondRpc({ rpcId: requested?.rpcId ?? '', payload: { done: true } });
  await flushEvents();
  ada.receive('_reliable', rpc({ id: '2', method: 'm'.repeat(65) }));
  ownPeer.disconnect();
  ada.receive('_reliable', rpc({ id: '3', method: 'm' }));
  await flushEvents();
  assert.deepEqual(shown(sent, 'ada'), [
    ['rpcAck', 'user own'],
    ['rpcResponse', 'user own', '{"done":true}'],
    ['rpcAck', 'user own'],
    ['rpcResponse', 'user own', 1500],
    ['rpcAck', 'user own'],
    ['rpcResponse', 'user own', 1503],
  ]);
  assert.deepEqual(shown(sent, 'bob'), []);
});

test('a peer with another client requests an RPC of a LiveKit client, which responds', async (t) => {
  const { ada, bob, own, ownPeer, sent } = await start(t);
  const request = (rpcId: string) => ownPeer.session.sendRpc({ rpcId, to: 'bob', method: 'm', payload: { b: 2 }, timeout: 5 });
  const respond = (value: RpcResponse['value']) => {
    const { value: last } = sent.at(-1)?.packet ?? assert.fail();
    const requestId = last.case === 'rpcRequest' ? last.value.id : assert.fail();
    // Of another client it is ignored.
    for (const { receive } of [ada, bob]) {
      receive('_reliable', packetOf({ value: { case: 'rpcAck', value: new RpcAck({ requestId }) }, destinationIdentities: ['user own'] }));
      receive(
        '_reliable',
        packetOf({ value: { case: 'rpcResponse', value: new RpcResponse({ requestId, value }) }, destinationIdentities: ['user own'] }),
      );
    }
  };
  request('1');
  respond({ case: 'payload', value: 'yes' });
  request('2');
  respond({ case: 'error', value: new RpcError({ code: 1500, message: 'no' }) });
  await flushEvents();
  assert.deepEqual(shown(sent, 'bob'), Array(2).fill(['rpcRequest', 'user own', '{"b":2}']));
  assert.deepEqual(
    [own.of('rpcResponded'), own.of('rpcFailed')],
    [[{ rpcId: '1', payload: 'yes' }], [{ rpcId: '2', code: 'rpc_failed', message: 'no' }]],
  );
});

test('a text stream reaches other LiveKit clients in parts, and other peers as one message', async (t) => {
  const { ada, own, sent } = await start(t);
  const send = (value: DataPacket['value']) => ada.receive('_reliable', packetOf({ value }));
  const text = (streamId: string, parts: readonly string[], reason = '') => {
    const contentHeader = { case: 'textHeader' as const, value: new DataStream_TextHeader({}) };
    send({ case: 'streamHeader', value: new DataStream_Header({ streamId, topic: 'lk.chat', contentHeader }) });
    for (const part of parts) send({ case: 'streamChunk', value: new DataStream_Chunk({ streamId, content: Buffer.from(part) }) });
    send({ case: 'streamTrailer', value: new DataStream_Trailer({ streamId, reason }) });
  };
  text('1', ['hello ', 'you']);
  text('cancelled', ['hello'], 'cancelled');
  text('large', ['x'.repeat(40_000), 'x'.repeat(40_000)]);
  assert.deepEqual(own.of('data'), [{ from: 'ada', label: 'lk.chat', payload: 'hello you' }]);
  assert.equal(sent.filter(({ to }) => to === 'bob').length, 11);
});

test('a byte stream reaches other peers as one message with its name and type', async (t) => {
  const { ada, own } = await start(t);
  const send = (value: DataPacket['value']) => ada.receive('_reliable', packetOf({ value }));
  const contentHeader = { case: 'byteHeader' as const, value: new DataStream_ByteHeader({ name: 'dot.png' }) };
  send({ case: 'streamHeader', value: new DataStream_Header({ streamId: '1', topic: 'files', mimeType: 'image/png', contentHeader }) });
  for (const content of [Buffer.of(0x89, 0x50), Buffer.of(0x4e)])
    send({ case: 'streamChunk', value: new DataStream_Chunk({ streamId: '1', content }) });
  assert.deepEqual(own.of('data'), []);
  send({ case: 'streamTrailer', value: new DataStream_Trailer({ streamId: '1' }) });
  const payload = { name: 'dot.png', mimeType: 'image/png', base64: 'iVBO' };
  assert.deepEqual(own.of('data'), [{ from: 'ada', label: 'files', payload }]);
});

test('a client without the permission sends no packets', async (t) => {
  const { ada, own, sent } = await start(t);
  ada.peer.rights.change({ data: false });
  ada.receive('_reliable', user(Buffer.from('x'), 't'));
  assert.deepEqual([sent, own.of('data')], [[], []]);
});

/** `npm run fuzz` sends 100,000. */
test('mutated packets are relayed with their sender or dropped with one message', async (t) => {
  const count = Number(process.env.FUZZ_PACKETS ?? 20_000) / 10;
  const fuzzer = new ByteFuzzer(Number(process.env.FUZZ_SEED ?? 1));
  const reasons = new Set<string>();
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => reasons.add(JSON.parse(line).reason ?? '') });
  const { ada, own, sent } = await start(t, log);
  const request = new RpcRequest({ id: '1', method: 'm', payload: 'p', version: 1 });
  // Without numbers, of which the largest would make all others repeated.
  const samples = [
    packetOf({ value: message(Buffer.from('{"a":1}'), 'json') }),
    packetOf({ value: message(Buffer.of(0xff, 0xfe), 'bytes'), destinationIdentities: ['user bob'] }),
    packetOf({ value: { case: 'rpcRequest', value: request }, destinationIdentities: ['user bob'] }),
  ];
  for (let index = 0; index < count; index += 1) ada.receive(fuzzer.below(2) === 0 ? '_reliable' : '_lossy', fuzzer.mutate(samples));
  // Of many more, most exceed the budget of the peer.
  const expected = Math.min(count, 2_000) / 20;
  assert.ok(sent.length > expected && own.of('data').length > expected, `${sent.length} relayed`);
  for (const { packet } of sent) assert.deepEqual([packet.participantIdentity, packet.participantSid], ['user ada', 'PA_ada']);
  reasons.delete('The message is not a DataPacket');
  reasons.delete('This peer exceeds its data rate limit');
  assert.deepEqual([...reasons], []);
});

/** A text stream of the topic of transcripts. */
function transcriptStream(
  id: string,
  text: string,
  [header, trailer]: [Record<string, string>, Record<string, string>],
  participantIdentity = '',
): Buffer[] {
  const contentHeader = { case: 'textHeader' as const, value: new DataStream_TextHeader() };
  const values = [
    {
      case: 'streamHeader' as const,
      value: new DataStream_Header({ streamId: id, topic: 'lk.transcription', attributes: header, contentHeader }),
    },
    { case: 'streamChunk' as const, value: new DataStream_Chunk({ streamId: id, content: Buffer.from(text) }) },
    { case: 'streamTrailer' as const, value: new DataStream_Trailer({ streamId: id, attributes: trailer }) },
  ];
  return values.map((value) => packetOf({ value, participantIdentity }));
}

test('final transcripts of an agent are events, in the name of the participant that spoke', async (t) => {
  const { ada, bob, sent, events } = await start(t, silentLog(), 'bob');
  const transcripts = () =>
    events.flatMap(({ type, peerId, transcript }) => (type === 'TranscriptAdded' ? [{ peerId, ...transcript }] : []));
  const final = { 'lk.transcription_final': 'true' };
  const segment = { 'lk.segment_id': 's1', 'lk.transcribed_track_id': 'TR_x', 'lk.transcription_final': 'false' };
  for (const packet of transcriptStream('a', 'Hel', [segment, {}], 'user ada')) bob.receive('_reliable', packet);
  assert.deepEqual(transcripts(), []);
  for (const packet of transcriptStream('b', 'Hello', [segment, final], 'user ada')) bob.receive('_reliable', packet);
  for (const packet of transcriptStream('c', 'Good morning', [{ ...final, 'lk.segment_id': 's2' }, {}])) bob.receive('_reliable', packet);
  const transcription = new Transcription({
    transcribedParticipantIdentity: 'user own',
    segments: [
      { id: 's3', text: 'Bonjour', final: true, language: 'fr' },
      { id: 's4', text: 'tout', final: false },
    ],
  });
  bob.receive('_reliable', packetOf({ value: { case: 'transcription', value: transcription } }));
  assert.deepEqual(transcripts(), [
    { peerId: 'bob', id: 's1', text: 'Hello', speakerId: 'ada', trackId: 'x' },
    { peerId: 'bob', id: 's2', text: 'Good morning', speakerId: 'bob' },
    { peerId: 'bob', id: 's3', text: 'Bonjour', speakerId: 'own', language: 'fr' },
  ]);
  assert.deepEqual(
    sent.filter(({ packet }) => packet.value.case === 'streamHeader').map(({ packet }) => packet.participantIdentity),
    ['user ada', 'user ada', 'user bob'],
  );
  // Other participants transcribe nothing, and write in their own name.
  for (const packet of transcriptStream('d', 'Forged', [{ ...segment, ...final }, {}], 'user bob')) ada.receive('_reliable', packet);
  assert.equal(transcripts().length, 3);
  assert.equal(sent.at(-1)?.packet.participantIdentity, 'user ada');
});
