// Decisions for a Room before and while its room exists, case by case.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reconcile } from '../../../../operator/rooms/reconcile.ts';
import { check, unknown } from './cases.ts';
import {
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
  wish,
} from './observed.ts';

const live = { status: readyStatus() };

describe('A Room without a room', () => {
  check([
    ['gets its finalizer first', { finalized: false }, { action: 'finalize' }],
    ['then gets its room', {}, { action: 'create' }],
    [
      'gets no room if its spec is invalid',
      { sentence: 'It is wrong.' },
      { action: 'wait', phase: 'Pending', accepted: 'False InvalidSpec', ready: 'False InvalidSpec' },
    ],
    ['gets no finalizer if its spec is invalid', { sentence: 'It is wrong.', finalized: false }, { action: 'wait' }],
    [
      'waits for its MediaCluster',
      { cluster: { reason: 'ClusterNotFound', message: 'It does not exist.' } },
      { action: 'wait', phase: 'Pending', accepted: 'False ClusterNotFound' },
    ],
    ['waits if another Room has its id', { conflictsWith: 'older' }, { action: 'wait', accepted: 'False RoomIdTaken' }],
    [
      'waits if a foreign room has its id',
      { fate: { kind: 'foreign' } },
      { action: 'wait', phase: 'Pending', accepted: 'False RoomIdTaken' },
    ],
    [
      'waits if no node accepts rooms',
      { fate: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' } },
      { action: 'wait', accepted: 'True Accepted', ready: 'False NoReadyNode' },
    ],
    [
      'reports the rejection of a node',
      { fate: { kind: 'rejected', reason: 'RefusedByNode', message: 'No.' } },
      { action: 'wait', accepted: 'False RefusedByNode' },
    ],
    ['reports unreachable nodes', { fate: unknown }, { action: 'wait', phase: 'Pending', ready: 'False NodeUnreachable' }],
    ['gets its room even if its node reports an ended one', { fate: { kind: 'ended', reason: 'deleted' } }, { action: 'create' }],
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
  check([
    ['is Ready', { fate: present() }, { action: 'wait', phase: 'Ready', ready: 'True Ready', degraded: 'False AsDeclared' }],
    ['is patched if its configuration differs', { fate: present(), spec: { maxPeers: 2 } }, { action: 'patch' }],
    [
      'reports a rejected configuration, and does not retry it',
      { fate: present(), spec: { maxPeers: 2 }, refusedConfig: { reason: 'ConfigRefused', message: 'No.' } },
      { action: 'wait', ready: 'False ConfigRefused' },
    ],
    ['gets a missing component', { fate: present(), desiredComponents: [wish('a')] }, { action: 'addComponents' }],
    [
      'loses a component that is not declared',
      { fate: present({ components: [nodeComponent('a', 'v1')] }) },
      { action: 'removeComponents' },
    ],
    [
      'loses a component whose options changed',
      { fate: present({ components: [nodeComponent('a', 'v0')] }), desiredComponents: [wish('a')] },
      { action: 'removeComponents' },
    ],
    [
      'keeps foreign components',
      { fate: present({ components: [nodeComponent('a', 'v1', { externalId: null })] }) },
      { action: 'wait', phase: 'Ready' },
    ],
    [
      'is Degraded by a rejected component',
      {
        fate: present(),
        desiredComponents: [wish('a')],
        refusedComponents: new Map([['a/v1', { reason: 'ComponentRefused', message: 'No.' }]]),
      },
      { action: 'wait', phase: 'Pending', ready: 'False ComponentRefused', degraded: 'True ComponentRefused' },
    ],
    [
      'is Ready and Degraded by a component whose uploads fail',
      {
        fate: present({ components: [nodeComponent('a', 'v1', { properties: { uploadProblem: 'S3 says no' } })] }),
        desiredComponents: [wish('a')],
      },
      { action: 'wait', phase: 'Ready', ready: 'True Ready', degraded: 'True UploadsFail' },
    ],
    [
      'retries a component that changed since its rejection',
      {
        fate: present(),
        desiredComponents: [wish('a', 'v2')],
        refusedComponents: new Map([['a/v1', { reason: 'ComponentRefused', message: 'No.' }]]),
      },
      { action: 'addComponents' },
    ],
    [
      'keeps a component running with a Secret that was deleted',
      {
        fate: present({ components: [nodeComponent('a', 'v1')] }),
        desiredComponents: [{ name: 'a', type: 'sip', problem: { reason: 'SecretMissing', message: 'Secret s does not exist.' } }],
      },
      { action: 'wait', degraded: 'True SecretMissing' },
    ],
    ['gets a missing peer', { fate: present(), spec: { peers: [{ name: 'ann' }] } }, { action: 'addPeers' }],
    ['loses a peer that is not declared', { fate: present({ peers: [nodePeer('ann')] }) }, { action: 'removePeers' }],
    ['keeps foreign peers', { fate: present({ peers: [nodePeer('ann', { externalId: null })] }) }, { action: 'wait', phase: 'Ready' }],
    [
      'is Degraded by a conflicting peer id',
      {
        fate: present({ peers: [nodePeer('ann', { externalId: 'other' })] }),
        spec: { peers: [{ name: 'ann' }] },
        secret: { foreign: false, peers: new Map(), keyGeneration: 0 },
      },
      { action: 'wait', degraded: 'True PeerIdTaken' },
    ],
    [
      'changes the permissions of a peer if they differ',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann', permissions: { subscribe: false } }] } },
      { action: 'patchPeers' },
    ],
    [
      'requests missing tokens of peers',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] } },
      { action: 'tokens' },
    ],
    [
      'writes received tokens',
      {
        fate: present({ peers: [nodePeer('ann')] }),
        spec: { peers: [{ name: 'ann' }] },
        newTokens: new Map([['ann', { token: token(0, 24), url: 'h/s' }]]),
      },
      { action: 'writeSecret' },
    ],
    [
      'does not change a foreign Secret',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] }, secret: { foreign: true } },
      { action: 'wait', degraded: 'True SecretNotOurs' },
    ],
    [
      'deletes a Secret of a previous Room of its name',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] }, secret: { foreign: true, left: true } },
      { action: 'deleteSecret' },
    ],
    [
      'deletes the Secret if it has no peers any more',
      { fate: present(), secret: { foreign: false, peers: new Map(), keyGeneration: 0 } },
      { action: 'deleteSecret' },
    ],
    ['keeps a foreign Secret if it has no peers', { fate: present(), secret: { foreign: true } }, { action: 'wait', phase: 'Ready' }],
  ]);

  const withToken = (issued: number, expires: number, given: Given = {}): Given => ({
    fate: present({ peers: [nodePeer('ann')] }),
    spec: { peers: [{ name: 'ann' }] },
    secret: {
      foreign: false,
      peers: new Map([['ann', { token: token(issued, expires), url: 'ws://127.0.0.1:5002/socket/peer/websocket' }]]),
      keyGeneration: 0,
    },
    ...given,
  });
  check([
    ['keeps a token in the first half of its lifetime', withToken(-11, 13), { action: 'wait', phase: 'Ready' }],
    ['renews a token in the second half of its lifetime', withToken(-13, 11), { action: 'tokens' }],
    ['renews an expired token', withToken(-30, -6), { action: 'tokens' }],
    ['renews a token from the future once', withToken(5, 29), { action: 'tokens' }],
    [
      'keeps a token from the future if the clock of the node is known to be ahead',
      withToken(5, 29, { skewMs: 5 * 3_600_000 }),
      { action: 'wait' },
    ],
    [
      'keeps a token that seems old if the clock of the node is known to lag',
      withToken(-30, -6, { skewMs: -30 * 3_600_000 }),
      { action: 'wait' },
    ],
    [
      'renews all tokens after a key rotation',
      withToken(-1, 23, {
        cluster: {
          name: 'media',
          defaults: { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null },
          api: undefined,
          keyGeneration: 1,
        },
      }),
      { action: 'tokens' },
    ],
    [
      'writes another URL if all nodes have one address',
      withToken(-1, 23, {
        cluster: {
          name: 'media',
          defaults: { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null },
          api: 'https://m.example.com/api',
          keyGeneration: 0,
        },
      }),
      { action: 'writeSecret' },
    ],
  ]);

  test('uses the public URL if there is one, with the scheme of a websocket', () => {
    const cluster = {
      name: 'media',
      defaults: { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null },
      api: 'https://m.example.com/api',
      keyGeneration: 0,
    };
    const { action } = reconcile(observed(withToken(-1, 23, { cluster })));
    assert.equal(action.type === 'writeSecret' && action.peers.get('ann')?.url, 'wss://m.example.com/api/socket/peer/websocket');
  });

  test('is requeued at half of the lifetime of its first token', () => {
    const { action } = reconcile(observed(withToken(-11, 13)));
    assert.deepEqual(action, { type: 'wait', requeueAfterMs: 3_600_000 });
  });

  test('writes counts of peers every 10 s at most', () => {
    const { status } = live;
    const crowd = present({ peers: [nodePeer('x', { externalId: null, status: 'connected' })] });
    const early = reconcile(observed({ status, fate: crowd, countsAgeMs: 4_000 }));
    assert.deepEqual(early.status.peers, { total: 0, connected: 0 });
    assert.deepEqual(early.action, { type: 'wait', requeueAfterMs: 6_000 });
    assert.deepEqual(reconcile(observed({ status, fate: crowd, countsAgeMs: 10_000 })).status.peers, { total: 1, connected: 1 });
  });

  test('reports node and creation time of its room', () => {
    const { status } = reconcile(observed({ fate: present() }));
    assert.deepEqual(
      [status.node, status.address, status.incarnation, status.cluster],
      ['media-0', '127.0.0.1:5002', incarnation, 'media'],
    );
    assert.equal(status.createdAt, '2024-11-21T18:15:48Z');
  });

  test('is idempotent', () => {
    assert.deepEqual(reconcile(observed({ ...live, fate: present() })).status, live.status);
  });
});

describe('A file component', () => {
  const played = (): Given => {
    const status = readyStatus({ fate: present({ components: [nodeComponent('song', 'v1')] }), desiredComponents: [wish('song')] });
    return { status, fate: present(), desiredComponents: [wish('song')] };
  };

  check([
    [
      'that finished is not played again',
      { ...played(), componentEnds: new Map([['id-of-song', 'finished']]) },
      { action: 'wait', phase: 'Ready' },
    ],
    ['whose end was not reported is not played again', played(), { action: 'wait', phase: 'Ready' }],
    ['that crashed is added again', { ...played(), componentEnds: new Map([['id-of-song', 'crashed']]) }, { action: 'addComponents' }],
    ['that was removed is added again', { ...played(), componentEnds: new Map([['id-of-song', 'removed']]) }, { action: 'addComponents' }],
    [
      'that counted as finished is added again after a late report of its removal',
      { ...played(), status: reconcile(observed(played())).status, componentEnds: new Map([['id-of-song', 'removed']]) },
      { action: 'addComponents' },
    ],
    [
      'that finished before a restart of the operator is not played again',
      { ...played(), status: reconcile(observed(played())).status },
      { action: 'wait', phase: 'Ready' },
    ],
    ['whose options changed is played', { ...played(), desiredComponents: [wish('song', 'v2')] }, { action: 'addComponents' }],
    [
      'in a recreated room is played again',
      { ...played(), fate: present({ incarnation: '01JD7Z0000000000000000000B' }) },
      { action: 'addComponents' },
    ],
  ]);
});

test('decisions never loop: from any state a finite number of steps is left', () => {
  const spec = { maxPeers: 2, peers: [{ name: 'ann' }] };
  let state = observed({ spec, finalized: false, desiredComponents: [wish('a')] });
  const room = nodeRoom({ config: { ...nodeRoom().config, maxPeers: 9 } });
  const taken: string[] = [];
  for (let step = 0; step < 20; step += 1) {
    const { status, action } = reconcile(state);
    taken.push(action.type);
    if (action.type === 'wait') break;
    state = { ...state, status };
    if (action.type === 'finalize') state = { ...state, finalized: true };
    if (action.type === 'create') state = { ...state, fate: present(room) };
    if (action.type === 'tokens') state = { ...state, newTokens: new Map([['ann', { token: token(0, 24), url: 'h/s' }]]) };
    if (action.type === 'writeSecret') {
      state = { ...state, secret: { foreign: false, peers: action.peers, keyGeneration: action.keyGeneration } };
    }
    if (state.fate.kind !== 'present') continue;
    const there = state.fate.room;
    if (action.type === 'patch') state = { ...state, fate: present({ ...there, config: { ...there.config, ...action.config } }) };
    if (action.type === 'addComponents') state = { ...state, fate: present({ ...there, components: [nodeComponent('a', 'v1')] }) };
    if (action.type === 'addPeers') state = { ...state, fate: present({ ...there, peers: [nodePeer('ann')] }) };
  }
  assert.deepEqual(taken, ['finalize', 'create', 'patch', 'addComponents', 'addPeers', 'tokens', 'writeSecret', 'wait']);
});
