// Actions with recorded requests: their messages, their simulated results, and that neither a node nor the observation is changed.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import type { Permissions } from '../../../../api/peer.ts';
import { roomSpecSchema } from '../../../../crds/room.ts';
import { recordingNodes } from '../../../../operator/dry-run/recording-node-client.ts';
import { NodeError } from '../../../../operator/nodes/node-error.ts';
import { type ActContext, act, type NodeAction } from '../../../../operator/rooms/act.ts';
import type { ClusterNode } from '../../../../operator/rooms/cluster-access.ts';
import { roomRequest } from '../../../../operator/rooms/desired.ts';
import type { Observed } from '../../../../operator/rooms/observed.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { listen } from '../../../kit/network/listen.ts';
import { desiredComponent, nodePeer, nodeRoom, observed, uid } from '../rooms/observed.ts';

const defaults = { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null };
const permissions: Permissions = { publish: ['audio'], subscribe: true, data: false };
const peer = (peerId: string) => ({ peerId, externalId: `${uid}/${peerId}`, permissions });
const component = (name: string) => {
  const desired = desiredComponent(name);
  return 'request' in desired ? desired : assert.fail();
};

function clusterNode(pod: string, url = 'http://127.0.0.1:9'): ClusterNode {
  return { pod, url, signed: true, ready: true, terminating: false, lost: false };
}

/** Nodes whose clients only record. */
function recording(nodes: ClusterNode[], messages: string[]): ActContext {
  const connect = recordingNodes((message) => messages.push(message));
  const place = { namespace: 'n', cluster: 'media', nodes: () => nodes };
  const clientOf = ({ url, signed, pod }: ClusterNode) => connect({ url, signed, token: () => 'token' }, { ...place, pod });
  const link = {
    roomEnd: () => undefined,
    isReportedLost: () => false,
    nodes: () => nodes,
    candidates: () => nodes.map((node) => ({ node, client: clientOf(node) })),
    clientOf,
    nodeAt: () => assert.fail('the address of a planned room is unknown'),
    podOf: () => undefined,
    componentEnds: new Map(),
  };
  return { link, cluster: 'media', signal: new AbortController().signal, now: () => 0 };
}

/** Performs the actions, and asserts that each leaves the observation before it unchanged. */
async function perform(context: ActContext, start: Observed, actions: readonly NodeAction[]): Promise<Observed> {
  let state = start;
  for (const action of actions) {
    const before = structuredClone(state);
    const after = await act(context, state, action);
    assert.deepEqual(state, before, action.type);
    assert.notEqual(after, state, action.type);
    state = after;
  }
  return state;
}

function roomOf({ location }: Observed) {
  return location.kind === 'present' ? location.room : assert.fail(location.kind);
}

const create: NodeAction = { type: 'create', request: roomRequest({ uid, roomId: 'r' }, roomSpecSchema.parse({}), defaults) };

test('each action has a message, and its result is in the returned observation only', async () => {
  const messages: string[] = [];
  const state = await perform(recording([clusterNode('media-0')], messages), observed(), [
    create,
    { type: 'addComponents', components: [component('song'), component('talk')] },
    { type: 'patch', config: { maxPeers: 7 } },
    { type: 'addPeers', peers: [peer('ann'), peer('bob')] },
    { type: 'patchPeers', peers: [{ ...peer('ann'), permissions: { ...permissions, data: true } }] },
    { type: 'tokens', peers: ['bob'] },
    { type: 'removePeers', ids: ['bob'] },
  ]);
  const room = roomOf(state);
  assert.equal(room.config.maxPeers, 7);
  assert.deepEqual(fieldsOf(room.components, 'externalId'), [`${uid}/song/v1`, `${uid}/talk/v1`]);
  assert.deepEqual(
    room.peers.map(({ id, permissions: { data } }) => [id, data]),
    [['ann', true]],
  );
  assert.deepEqual([...state.newTokens.keys()], ['ann', 'bob']);
  assert.notEqual(state.skewMs, undefined);
  const removed: NodeAction = { type: 'removeComponents', ids: room.components.map(({ id }) => id) };
  const ended = await perform(recording([clusterNode('media-0')], []), observed(), [create, removed, { type: 'delete' }]);
  assert.equal(ended.location.kind, 'absent');
  assert.deepEqual(messages, [
    'would create room r on media-0',
    'would add component song (file) to room r on media-0',
    'would add component talk (file) to room r on media-0',
    'would change maxPeers of room r on media-0',
    'would add peer ann to room r on media-0',
    'would add peer bob to room r on media-0',
    'would change peer ann of room r on media-0',
    'would get a fresh token for peer bob of room r on media-0',
    'would remove peer bob of room r on media-0',
  ]);
});

test('the node of a planned room is unknown if several nodes accept rooms', async () => {
  const messages: string[] = [];
  const context = recording([clusterNode('media-0'), clusterNode('media-1')], messages);
  const { location } = await perform(context, observed(), [create, { type: 'delete' }]);
  assert.equal(location.kind, 'absent');
  const unknown = '(known after creation)';
  assert.deepEqual(messages, ['would create room r on a node of MediaCluster media', `would delete room r on ${unknown}`]);
});

test('rooms are read from the node, and no request that changes something is sent', async (t) => {
  const methods: (string | undefined)[] = [];
  const server = createServer(({ method }, response) => {
    methods.push(method);
    response.end(JSON.stringify({ data: nodeRoom({ peers: [nodePeer('ann')] }) }));
  });
  const messages: string[] = [];
  const node = clusterNode('media-0', `http://127.0.0.1:${await listen(t, server)}`);
  const client = recording([node], messages).link.clientOf(node);
  await client.room('r');
  // A repeated request would return the address, which is not known.
  await assert.rejects(
    client.createRoom({ roomId: 'r', externalId: uid, videoCodec: null, maxPeers: null, webhookUrl: null, ...defaults }),
    NodeError,
  );
  assert.equal((await client.patchPeer('r', { peerId: 'ann', externalId: `${uid}/ann`, permissions })).externalId, `${uid}/ann`);
  await client.deletePeer('r', 'ann');
  await client.deleteRoom('r');
  await client.drain('svc@media-0', 30);
  await client.cancelDrain('svc@media-0');
  await assert.rejects(client.deleteRoom('r'), NodeError);
  assert.deepEqual(methods, ['GET']);
  assert.deepEqual(messages, [
    'would change peer ann of room r',
    'would remove peer ann of room r',
    'would delete room r',
    'would drain media node svc@media-0 within 30 s',
    'would cancel the drain of media node svc@media-0',
  ]);
});
