// Decisions for a Room before and while its room exists, case by case.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';
import { check, unknown } from './cases.ts';
import {
  cluster,
  desiredComponent,
  type Given,
  incarnation,
  nodeComponent,
  nodePeer,
  nodeRoom,
  observed,
  present,
  readyStatus,
  token,
  uid,
} from './observed.ts';

const live = { status: readyStatus() };
/** A room with a declared peer. */
const withAnn: Given = { location: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] } };
const noPeers = { foreign: false as const, peers: new Map(), keyGeneration: 0 };
const undeclaredA = { location: present({ components: [nodeComponent('a', 'v1')] }) };
const annToken = new Map([['ann', { token: token(0, 24), url: 'h/s' }]]);
const refusal = { reason: 'ComponentRefused', message: 'No.' } as const;
/** A component of which version v1 was rejected. */
const refusedA = (revision: string): Given => ({
  ...{ location: present(), desiredComponents: [desiredComponent('a', revision)] },
  refusedComponents: new Map([['a/v1', refusal]]),
});

describe('A Room without a room', () => {
  const noNode: Given = { location: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' } };
  const rejected: Given = { location: { kind: 'rejected', reason: 'RefusedByNode', message: 'No.' } };
  check([
    ['gets its finalizer first', { finalized: false }, 'finalize'],
    ['then gets its room', {}, 'create'],
    ['gets no room if its spec is invalid', { message: 'No.' }, 'wait Pending Accepted=False/InvalidSpec Ready=False/InvalidSpec'],
    ['gets no finalizer if its spec is invalid', { message: 'It is wrong.', finalized: false }, 'wait'],
    [
      'waits for its MediaCluster',
      { cluster: { reason: 'ClusterNotFound', message: 'No.' } },
      'wait Pending Accepted=False/ClusterNotFound',
    ],
    ['waits if another Room has its id', { conflictsWith: 'older' }, 'wait Accepted=False/RoomIdTaken'],
    ['waits if a foreign room has its id', { location: { kind: 'foreign' } }, 'wait Pending Accepted=False/RoomIdTaken'],
    ['waits if no node accepts rooms', noNode, 'wait Accepted=True/Accepted Ready=False/NoReadyNode'],
    ['reports the rejection of a node', rejected, 'wait Accepted=False/RefusedByNode'],
    ['reports unreachable nodes', { location: unknown }, 'wait Pending Ready=False/NodeUnreachable'],
    ['gets its room even if its node reports an ended one', { location: { kind: 'ended', reason: 'deleted' } }, 'create'],
  ]);

  test('requests its declared options, with default timeouts of the cluster and null for 0', () => {
    const { action } = reconcile(observed({ spec: { maxPeers: 4, peerlessPurgeTimeout: 0, videoCodec: 'vp8' } }));
    assert.deepEqual(action, {
      type: 'create',
      request: {
        roomId: 'r',
        externalId: uid,
        videoCodec: 'vp8',
        maxPeers: 4,
        webhookUrl: null,
        peerlessPurgeTimeout: null,
        peerDisconnectedTimeout: 120,
      },
    });
  });
});

describe('A Room whose room exists', () => {
  const manual = { ...nodeRoom().config, admission: 'manual' as const };
  const topic = { ...nodeRoom().config, metadata: { topic: 1 } };
  check([
    ['is Ready', { location: present() }, 'wait Ready Ready=True/Ready Degraded=False/AsDeclared'],
    ['is patched if its configuration differs', { location: present(), spec: { maxPeers: 2 } }, 'patch'],
    ['is patched if its metadata differs', { location: present({ config: topic }), spec: { metadata: { topic: 2 } } }, 'patch'],
    ['is patched if its admission differs', { location: present({ config: manual }), spec: { admission: 'automatic' } }, 'patch'],
    ['keeps the admission that REST set', { location: present({ config: manual }), spec: {} }, 'wait Ready'],
    ['keeps the metadata that REST set', { location: present({ config: topic }), spec: {} }, 'wait Ready'],
    [
      'reports a rejected configuration, and does not retry it',
      { location: present(), spec: { maxPeers: 2 }, refusedConfig: { reason: 'ConfigRefused', message: 'No.' } },
      'wait Ready=False/ConfigRefused',
    ],
    ['gets a missing component', { location: present(), desiredComponents: [desiredComponent('a')] }, 'addComponents'],
    ['loses a component that is not declared', undeclaredA, 'removeComponents'],
    [
      'loses a component whose options changed',
      { location: present({ components: [nodeComponent('a', 'v0')] }), desiredComponents: [desiredComponent('a')] },
      'removeComponents',
    ],
    ['keeps foreign components', { location: present({ components: [nodeComponent('a', 'v1', { externalId: null })] }) }, 'wait Ready'],
    [
      'is Degraded by a rejected component',
      refusedA('v1'),
      'wait Pending Ready=False/ComponentRefused Degraded=True/ComponentRefused Stalled=True/ComponentRefused',
    ],
    [
      'is Ready and Degraded by a component whose uploads fail',
      {
        location: present({ components: [nodeComponent('a', 'v1', { properties: { uploadProblem: 'S3 says no' } })] }),
        desiredComponents: [desiredComponent('a')],
      },
      'wait Ready Ready=True/Ready Degraded=True/UploadsFail',
    ],
    ['retries a component that changed since its rejection', refusedA('v2'), 'addComponents'],
    [
      'keeps a component running with a Secret that was deleted',
      {
        ...undeclaredA,
        desiredComponents: [{ name: 'a', type: 'sip', problem: { reason: 'SecretMissing', message: 'Secret s does not exist.' } }],
      },
      'wait Degraded=True/SecretMissing Reconciling=True/SecretMissing',
    ],
    ['gets a missing peer', { location: present(), spec: { peers: [{ name: 'ann' }] } }, 'addPeers'],
    ['loses a peer that is not declared', { location: present({ peers: [nodePeer('ann')] }) }, 'removePeers'],
    ['keeps foreign peers', { location: present({ peers: [nodePeer('ann', { externalId: null })] }) }, 'wait Ready'],
    [
      'is Degraded by a conflicting peer id',
      {
        ...{ ...withAnn, location: present({ peers: [nodePeer('ann', { externalId: 'other' })] }) },
        secret: noPeers,
      },
      'wait Degraded=True/PeerIdTaken',
    ],
    [
      'changes the attributes of a peer if they differ',
      { ...withAnn, spec: { peers: [{ name: 'ann', attributes: { role: 'host' } }] } },
      'patchPeers',
    ],
    [
      'keeps a peer with more attributes',
      {
        location: present({ peers: [nodePeer('ann', { attributes: { role: 'host', hand: 'up' } })] }),
        spec: { peers: [{ name: 'ann', attributes: { role: 'host' } }] },
      },
      'tokens',
    ],
    [
      'admits a declared peer that waits',
      {
        location: present({ peers: [nodePeer('ann', { status: 'waiting', admitted: false })] }),
        spec: { peers: [{ name: 'ann', admitted: true }] },
      },
      'patchPeers',
    ],
    [
      'reports a rejected change of a peer, and does not retry it',
      {
        ...withAnn,
        spec: { peers: [{ name: 'ann', attributes: { role: 'host' } }] },
        refusedPeers: new Map([['ann', { reason: 'PeerRefused', message: 'No.' }]]),
      },
      'tokens',
    ],
    [
      'changes the permissions of a peer if they differ',
      { ...withAnn, spec: { peers: [{ name: 'ann', permissions: { subscribe: false } }] } },
      'patchPeers',
    ],
    [
      'grants a peer to set the metadata of the room',
      { ...withAnn, spec: { peers: [{ name: 'ann', permissions: { roomMetadata: true } }] } },
      'patchPeers',
    ],
    [
      'restricts the sources of a peer',
      { ...withAnn, spec: { peers: [{ name: 'ann', permissions: { publishSources: ['camera'] } }] } },
      'patchPeers',
    ],
    ['requests missing tokens of peers', withAnn, 'tokens'],
    ['writes received tokens', { ...withAnn, newTokens: annToken }, 'writeSecret'],
    ['does not change a foreign Secret', { ...withAnn, secret: { foreign: true } }, 'wait Degraded=True/SecretNotOurs'],
    ['deletes a Secret of a previous Room of its name', { ...withAnn, secret: { foreign: true, left: true } }, 'deleteSecret'],
    ['deletes the Secret if it has no peers any more', { location: present(), secret: noPeers }, 'deleteSecret'],
    ['keeps a foreign Secret if it has no peers', { location: present(), secret: { foreign: true } }, 'wait Ready'],
  ]);

  test('compares the sources of a peer as a set, and lifts the restriction if it is not declared any more', () => {
    const ann = nodePeer('ann');
    const restricted = { ...ann, permissions: { ...ann.permissions, publishSources: ['screen', 'camera'] } };
    const actionFor = (permissions: { publishSources?: ('camera' | 'screen')[] }) =>
      reconcile(observed({ location: present({ peers: [restricted] }), spec: { peers: [{ name: 'ann', permissions }] } })).action;
    assert.equal(actionFor({ publishSources: ['camera', 'screen'] }).type, 'tokens');
    const lifted = actionFor({});
    assert.equal(lifted.type === 'patchPeers' && lifted.peers[0]?.permissions.publishSources, null);
  });

  test('revokes the permission to set the metadata of the room if it is not declared any more', () => {
    const ann = nodePeer('ann');
    const granted = { ...ann, permissions: { ...ann.permissions, roomMetadata: true } };
    const { action } = reconcile(observed({ location: present({ peers: [granted] }), spec: { peers: [{ name: 'ann' }] } }));
    assert.equal(action.type, 'patchPeers');
    assert.equal(action.type === 'patchPeers' && action.peers[0]?.permissions.roomMetadata, false);
  });

  const withAddress = { ...cluster, api: 'https://m.example.com/api' };
  const withToken = (issued: number, expires: number, given: Given = {}): Given => ({
    ...withAnn,
    secret: { ...noPeers, peers: new Map([['ann', { token: token(issued, expires), url: 'ws://127.0.0.1:5002/socket/peer/websocket' }]]) },
    ...given,
  });
  check([
    ['keeps a token in the first half of its lifetime', withToken(-11, 13), 'wait Ready'],
    ['renews a token in the second half of its lifetime', withToken(-13, 11), 'tokens'],
    ['renews an expired token', withToken(-30, -6), 'tokens'],
    ['renews a token from the future once', withToken(5, 29), 'tokens'],
    ['keeps a token from the future if the clock of the node is known to be ahead', withToken(5, 29, { skewMs: 5 * 3_600_000 }), 'wait'],
    ['keeps a token that seems old if the clock of the node is known to lag', withToken(-30, -6, { skewMs: -30 * 3_600_000 }), 'wait'],
    ['renews all tokens after a key rotation', withToken(-1, 23, { cluster: { ...cluster, keyGeneration: 1 } }), 'tokens'],
    ['writes another URL if all nodes have one address', withToken(-1, 23, { cluster: withAddress }), 'writeSecret'],
  ]);

  test('uses the public URL if there is one, with the scheme of a websocket', () => {
    const { action } = reconcile(observed(withToken(-1, 23, { cluster: withAddress })));
    assert.equal(action.type === 'writeSecret' && action.peers.get('ann')?.url, 'wss://m.example.com/api/socket/peer/websocket');
  });

  test('is requeued at half of the lifetime of its first token', () => {
    const { action } = reconcile(observed(withToken(-11, 13)));
    assert.deepEqual(action, { type: 'wait', requeueAfterMs: 3_600_000 });
  });

  test('writes counts of peers every 10 s at most', () => {
    const { status } = live;
    const crowd = present({ peers: [nodePeer('x', { externalId: null, status: 'connected' })] });
    const early = reconcile(observed({ status, location: crowd, countsAgeMs: 4_000 }));
    assert.deepEqual(early.status.peers, { total: 0, connected: 0 });
    assert.deepEqual(early.action, { type: 'wait', requeueAfterMs: 6_000 });
    assert.deepEqual(reconcile(observed({ status, location: crowd, countsAgeMs: 10_000 })).status.peers, { total: 1, connected: 1 });
  });

  test('reports node and creation time of its room', () => {
    const { status } = reconcile(observed({ location: present() }));
    assert.deepEqual(
      [status.node, status.address, status.incarnation, status.cluster],
      ['media-0', '127.0.0.1:5002', incarnation, 'media'],
    );
    assert.equal(status.createdAt, '2024-11-21T18:15:48Z');
  });

  test('has no creation time that the API server rejects', () => {
    for (const [time, createdAt] of [
      ['76EZ91ZPZZ', '9999-12-31T23:59:59Z'],
      ['76EZ91ZQ00', undefined],
      ['ZZZZZZZZZZ', undefined],
    ] as const) {
      const room = { incarnation: `${time}000000000000000A` };
      assert.equal(reconcile(observed({ location: present(room) })).status.createdAt, createdAt, time);
    }
  });

  test('is idempotent', () => {
    assert.deepEqual(reconcile(observed({ ...live, location: present() })).status, live.status);
  });
});

describe('A file component', () => {
  const played = (): Given => {
    const status = readyStatus({
      location: present({ components: [nodeComponent('song', 'v1')] }),
      desiredComponents: [desiredComponent('song')],
    });
    return { status, location: present(), desiredComponents: [desiredComponent('song')] };
  };

  check([
    ['that finished is not played again', { ...played(), componentEnds: new Map([['id-of-song', 'finished']]) }, 'wait Ready'],
    ['whose end was not reported is not played again', played(), 'wait Ready'],
    ['that crashed is added again', { ...played(), componentEnds: new Map([['id-of-song', 'crashed']]) }, 'addComponents'],
    ['that was removed is added again', { ...played(), componentEnds: new Map([['id-of-song', 'removed']]) }, 'addComponents'],
    [
      'that counted as finished is added again after a late report of its removal',
      { ...played(), status: reconcile(observed(played())).status, componentEnds: new Map([['id-of-song', 'removed']]) },
      'addComponents',
    ],
    [
      'that finished before a restart of the operator is not played again',
      { ...played(), status: reconcile(observed(played())).status },
      'wait Ready',
    ],
    ['whose options changed is played', { ...played(), desiredComponents: [desiredComponent('song', 'v2')] }, 'addComponents'],
    [
      'in a recreated room is played again',
      { ...played(), location: present({ incarnation: '01JD7Z0000000000000000000B' }) },
      'addComponents',
    ],
  ]);
});

test('decisions never loop: from any state a finite number of steps is left', () => {
  const spec = { maxPeers: 2, peers: [{ name: 'ann' }] };
  let state = observed({ spec, finalized: false, desiredComponents: [desiredComponent('a')] });
  const room = nodeRoom({ config: { ...nodeRoom().config, maxPeers: 9 } });
  const taken: string[] = [];
  for (let step = 0; step < 20; step += 1) {
    const { status, action } = reconcile(state);
    taken.push(action.type);
    if (action.type === 'wait') break;
    state = { ...state, status };
    if (action.type === 'finalize') state = { ...state, finalized: true };
    if (action.type === 'create') state = { ...state, location: present(room) };
    if (action.type === 'tokens') state = { ...state, newTokens: annToken };
    if (action.type === 'writeSecret') {
      state = { ...state, secret: { foreign: false, peers: action.peers, keyGeneration: action.keyGeneration } };
    }
    if (state.location.kind !== 'present') continue;
    const there = state.location.room;
    if (action.type === 'patch') state = { ...state, location: present({ ...there, config: { ...there.config, ...action.config } }) };
    if (action.type === 'addComponents') state = { ...state, location: present({ ...there, components: [nodeComponent('a', 'v1')] }) };
    if (action.type === 'addPeers') state = { ...state, location: present({ ...there, peers: [nodePeer('ann')] }) };
  }
  assert.deepEqual(taken, ['finalize', 'create', 'patch', 'addComponents', 'addPeers', 'tokens', 'writeSecret', 'wait']);
});
