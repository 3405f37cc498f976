// All event types: caused by real clients and components, observed on sockets of both nodes and on a webhook, in order.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { eventTypes, type RoomEvent } from '../../api/events.ts';
import { playableFiles } from '../kit/media/ogg-file.ts';
import type { PeerSocket } from '../kit/network/peer-socket.ts';
import { enterRoom, watchEvents } from '../kit/network/room-sockets.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { type NodePair, startNodePair } from '../kit/processes/node-pair.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { type StartedNode, wholeRooms } from '../kit/processes/start-node.ts';
import { opusParameters } from './kit.ts';

type LabeledEvent = { label: string; event: RoomEvent };
type Witness = { reported: (roomId: string) => LabeledEvent[]; until: (roomId: string, kind: string, peerId?: string) => Promise<void> };

const labelOf = (event: RoomEvent) => [event.type, event.peerId, event.reason].filter((part) => part !== undefined).join(' ');
const isThat = (event: Partial<RoomEvent>, roomId: string, kind: string, peerId?: string) =>
  event.roomId === roomId && event.type === kind && (peerId === undefined || event.peerId === peerId);
const labeled = (events: readonly RoomEvent[], roomId: string) =>
  events.filter((event) => event.roomId === roomId).map((event) => ({ label: labelOf(event), event }));

async function socketWitness(t: TestContext, node: StartedNode): Promise<Witness> {
  const socket = await watchEvents(t, node);
  return {
    reported: (roomId) =>
      labeled(
        socket.events('roomEvent').map(({ data }) => data as RoomEvent),
        roomId,
      ),
    until: async (roomId, kind, peerId) => void (await socket.waitFor('roomEvent', (event) => isThat(event, roomId, kind, peerId))),
  };
}

async function webhookWitness(t: TestContext): Promise<Witness & { url: string }> {
  const receiver = await startReceiver(t);
  return {
    url: receiver.url,
    reported: (roomId) =>
      labeled(
        receiver.received.map(({ event }) => event),
        roomId,
      ),
    until: (roomId, kind, peerId) => receiver.untilTrue((all) => all.some(({ event }) => isThat(event, roomId, kind, peerId))),
  };
}

const enter = (t: TestContext, { owner, api }: NodePair, roomId: string, peerId: string) =>
  enterRoom(t, { ...owner, api }, roomId, { peerId });

async function publish(peer: PeerSocket): Promise<string> {
  const transport = await peer.request('createTransport', { direction: 'send' });
  const { data } = await peer.request('publish', { transportId: transport.data?.id, kind: 'audio', rtpParameters: opusParameters('0') });
  return String(data?.trackId);
}

/** Peers that leave, lose their connection, are removed, crash, or are in a room that ends. */
async function liveOut(t: TestContext, pair: NodePair, webhookUrl: string, witness: Witness): Promise<void> {
  const { owner, api } = pair;
  await owner.node.parts.rooms.createRoom({ roomId: 'lived', webhookUrl });
  const leaves = await enter(t, pair, 'lived', 'leaves');
  await leaves.request('setPeerMetadata', { metadata: { name: 'Ada' } });
  await leaves.request('setAttributes', { attributes: { hand: 'up' } });
  assert.equal((await api.patch('/room/lived', { metadata: { topic: 'tests' } })).status, 200);
  const trackId = await publish(leaves);
  await leaves.request('setTrackMetadata', { trackId, metadata: { source: 'microphone' } });
  await leaves.request('leave');
  await leaves.closed;
  const lost = await enter(t, pair, 'lived', 'lost');
  await publish(lost);
  await lost.cut();
  await witness.until('lived', 'PeerDisconnected', 'lost');
  const removed = await enter(t, pair, 'lived', 'removed');
  await publish(removed);
  assert.equal((await api.delete('/room/lived/peer/removed')).status, 204);
  await removed.closed;
  const crashes = await enter(t, pair, 'lived', 'crashes');
  const peer = owner.node.parts.rooms.findPeer('lived', 'crashes');
  assert.ok(peer);
  t.mock.method(peer.session.media, 'stats', async () => {
    throw new Error('an unexpected error');
  });
  crashes.post('getStats');
  assert.equal((await crashes.closed).code, 1011);
  assert.equal((await api.patch('/room/lived', { admission: 'manual' })).status, 200);
  const denied = await enter(t, pair, 'lived', 'denied');
  assert.equal((await api.post('/room/lived/peer/denied/deny')).status, 204);
  await denied.closed;
  const stays = await enter(t, pair, 'lived', 'stays');
  assert.equal((await api.post('/room/lived/peer/stays/admit')).status, 204);
  await publish(stays);
  assert.equal((await api.delete('/room/lived')).status, 204);
}

/** A dying worker ends its peers and components: `RoomCrashed` instead of an event of the component. */
async function dieWithWorker(t: TestContext, pair: NodePair, webhookUrl: string): Promise<void> {
  const { owner, api } = pair;
  await owner.node.parts.rooms.createRoom({ roomId: 'died', webhookUrl });
  const victim = await enter(t, pair, 'died', 'victim');
  await publish(victim);
  await enter(t, pair, 'died', 'silent');
  assert.equal((await api.post('/room/died/component', { type: 'file', options: { filePath: 'long.ogg' } })).status, 201);
  const pid = owner.node.parts.media.workers()[0]?.pid;
  assert.ok(pid);
  process.kill(pid, 'SIGKILL');
  assert.equal((await victim.closed).code, 1011);
}

/** Components that finish, crash, are removed, or are in a room that ends. */
async function playFiles({ owner, api }: NodePair, webhookUrl: string, witness: Witness): Promise<void> {
  await owner.node.parts.rooms.createRoom({ roomId: 'played', webhookUrl });
  const play = async (filePath: string): Promise<string> => {
    const { status, body } = await api.post('/room/played/component', { type: 'file', options: { filePath } });
    assert.equal(status, 201);
    return body.data.id;
  };
  await play('short.ogg');
  await witness.until('played', 'ComponentRemoved');
  await play('broken.ogg');
  await witness.until('played', 'ComponentCrashed');
  assert.equal((await api.delete(`/room/played/component/${await play('long.ogg')}`)).status, 204);
  await play('long.ogg');
  assert.equal((await api.delete('/room/played')).status, 204);
}

const expected: Record<string, readonly string[]> = {
  lived: [
    'RoomCreated',
    'PeerAdded leaves',
    'PeerConnected leaves',
    'PeerMetadataUpdated leaves',
    'PeerAttributesUpdated leaves',
    'RoomMetadataUpdated',
    'TrackAdded leaves',
    'TrackMetadataUpdated leaves',
    'TrackRemoved leaves',
    'PeerDisconnected leaves',
    'PeerAdded lost',
    'PeerConnected lost',
    'TrackAdded lost',
    'TrackRemoved lost',
    'PeerDisconnected lost',
    'PeerAdded removed',
    'PeerConnected removed',
    'TrackAdded removed',
    'TrackRemoved removed',
    'PeerDisconnected removed',
    'PeerDeleted removed removed',
    'PeerAdded crashes',
    'PeerConnected crashes',
    'PeerDisconnected crashes',
    'PeerCrashed crashes request failed unexpectedly',
    'PeerAdded denied',
    'PeerWaiting denied',
    'PeerWaitingEnded denied denied',
    'PeerDeleted denied denied',
    'PeerAdded stays',
    'PeerWaiting stays',
    'PeerWaitingEnded stays admitted',
    'PeerConnected stays',
    'TrackAdded stays',
    'PeerDeleted leaves room_deleted',
    'PeerDeleted lost room_deleted',
    'TrackRemoved stays',
    'PeerDisconnected stays',
    'PeerDeleted stays room_deleted',
    'RoomDeleted deleted',
  ],
  died: [
    'RoomCreated',
    'PeerAdded victim',
    'PeerConnected victim',
    'TrackAdded victim',
    'PeerAdded silent',
    'PeerConnected silent',
    'ComponentAdded',
    'TrackAdded',
    'TrackRemoved',
    'TrackRemoved victim',
    'PeerDisconnected victim',
    'PeerDisconnected silent',
    'RoomCrashed media worker died',
  ],
  played: [
    'RoomCreated',
    'ComponentAdded',
    'TrackAdded',
    'TrackRemoved',
    'ComponentRemoved finished',
    'ComponentAdded',
    'TrackAdded',
    'TrackRemoved',
    'ComponentCrashed The file has an Opus packet of more than 1400 bytes, which does not fit an RTP packet',
    'ComponentAdded',
    'TrackAdded',
    'TrackRemoved',
    'ComponentRemoved removed',
    'ComponentAdded',
    'TrackAdded',
    'TrackRemoved',
    'ComponentRemoved room_deleted',
    'RoomDeleted deleted',
  ],
};

test('every event type reaches both nodes and a webhook, in order, without gaps and matching its schema', async (t) => {
  const pair = await startNodePair(t, {
    both: { ...wholeRooms, SVC_PEER_RESUME_WINDOW: '0', SVC_COMPONENTS_USED: 'file' },
    owner: { SVC_RESOURCES_BASE_PATH: await makeResources(t, playableFiles()) },
  });
  const near = await socketWitness(t, pair.owner);
  const far = await socketWitness(t, pair.nonOwner);
  const webhook = await webhookWitness(t);
  await liveOut(t, pair, webhook.url, far);
  await playFiles(pair, webhook.url, far);
  await dieWithWorker(t, pair, webhook.url);
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  addFormats.default(ajv);
  const schema = (await (await fetch(`${pair.nonOwner.url}/schemas/events.json`)).json()) as object;
  const validate = ajv.compile(schema);
  for (const [roomId, last] of [
    ['lived', 'RoomDeleted'],
    ['died', 'RoomCrashed'],
    ['played', 'RoomDeleted'],
  ] as const) {
    for (const witness of [near, far, webhook]) {
      await witness.until(roomId, last);
      const reported = witness.reported(roomId);
      assert.deepEqual(
        reported.map(({ label }) => label),
        expected[roomId],
      );
      assert.deepEqual(
        reported.map(({ event }) => event.seq),
        reported.map((_, index) => index + 1),
      );
      for (const { event } of reported) assert.ok(validate(event), `${ajv.errorsText(validate.errors)}: ${JSON.stringify(event)}`);
      assert.deepEqual(
        reported.map(({ event }) => event),
        near.reported(roomId).map(({ event }) => event),
      );
    }
  }
});

/** Events of streams, uploads, calls, dropped tracks and transcripts are tested in hls, s3-recording, sip-component, hostile/components and
 * unit/livekit/data-channels. */
const elsewhere = /^(Hls|Recording|Sip|ComponentTrackDropped$|TranscriptAdded$)/;

test('the tests above cover every event type', () => {
  const made = new Set(Object.values(expected).flatMap((labels) => labels.map((label) => label.split(' ')[0])));
  assert.deepEqual(
    eventTypes.filter((kind) => !made.has(kind) && !elsewhere.test(kind)),
    [],
  );
});
