// The decision about a Room before it has its room and while it has it, case by case.
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

describe('A Room before it has a room', () => {
  check([
    ['gets its finalizer first', { finalized: false }, { action: 'finalize' }],
    ['is then made', {}, { action: 'create' }],
    [
      'is not made where its spec is invalid',
      { sentence: 'It is wrong.' },
      { action: 'wait', phase: 'Pending', accepted: 'False InvalidSpec', ready: 'False InvalidSpec' },
    ],
    ['gets no finalizer where its spec is invalid', { sentence: 'It is wrong.', finalized: false }, { action: 'wait' }],
    [
      'waits for its MediaCluster',
      { cluster: { reason: 'ClusterNotFound', message: 'There is none.' } },
      { action: 'wait', phase: 'Pending', accepted: 'False ClusterNotFound' },
    ],
    ['waits where another Room has its id', { conflictsWith: 'older' }, { action: 'wait', accepted: 'False RoomIdTaken' }],
    [
      'waits where a stranger’s room has its id',
      { fate: { kind: 'foreign' } },
      { action: 'wait', phase: 'Pending', accepted: 'False RoomIdTaken' },
    ],
    [
      'waits where no node takes rooms',
      { fate: { kind: 'retryable', reason: 'NoReadyNode', message: 'None.' } },
      { action: 'wait', accepted: 'True Accepted', ready: 'False NoReadyNode' },
    ],
    [
      'says what a node said to its options',
      { fate: { kind: 'rejected', reason: 'RefusedByNode', message: 'No.' } },
      { action: 'wait', accepted: 'False RefusedByNode' },
    ],
    ['says that nobody could be asked', { fate: unknown }, { action: 'wait', phase: 'Pending', ready: 'False NodeUnreachable' }],
    ['is made also where its node remembers one that ended before', { fate: { kind: 'ended', reason: 'deleted' } }, { action: 'create' }],
  ]);

  test('asks for what it declares, with the timeouts of the cluster where it says nothing and null for 0', () => {
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

describe('A Room whose room is there', () => {
  check([
    ['is Ready', { fate: present() }, { action: 'wait', phase: 'Ready', ready: 'True Ready', degraded: 'False AsDeclared' }],
    ['is patched where its configuration differs', { fate: present(), spec: { maxPeers: 2 } }, { action: 'patch' }],
    [
      'says that its node refused the configuration, and does not ask again',
      { fate: present(), spec: { maxPeers: 2 }, refusedConfig: { reason: 'ConfigRefused', message: 'No.' } },
      { action: 'wait', ready: 'False ConfigRefused' },
    ],
    ['gets a component that is missing', { fate: present(), desiredComponents: [wish('a')] }, { action: 'addComponents' }],
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
      'keeps components of others',
      { fate: present({ components: [nodeComponent('a', 'v1', { externalId: null })] }) },
      { action: 'wait', phase: 'Ready' },
    ],
    [
      'is Degraded by a component that was refused',
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
      'asks again for a component that is another one since it was refused',
      {
        fate: present(),
        desiredComponents: [wish('a', 'v2')],
        refusedComponents: new Map([['a/v1', { reason: 'ComponentRefused', message: 'No.' }]]),
      },
      { action: 'addComponents' },
    ],
    [
      'keeps what runs with a Secret that is gone by now',
      {
        fate: present({ components: [nodeComponent('a', 'v1')] }),
        desiredComponents: [{ name: 'a', type: 'sip', problem: { reason: 'SecretMissing', message: 'Secret s does not exist.' } }],
      },
      { action: 'wait', degraded: 'True SecretMissing' },
    ],
    ['gets a peer that is missing', { fate: present(), spec: { peers: [{ name: 'ann' }] } }, { action: 'addPeers' }],
    ['loses a peer that is not declared', { fate: present({ peers: [nodePeer('ann')] }) }, { action: 'removePeers' }],
    ['keeps peers of others', { fate: present({ peers: [nodePeer('ann', { externalId: null })] }) }, { action: 'wait', phase: 'Ready' }],
    [
      'is Degraded by a peer id that is taken',
      {
        fate: present({ peers: [nodePeer('ann', { externalId: 'other' })] }),
        spec: { peers: [{ name: 'ann' }] },
        secret: { foreign: false, peers: new Map(), keyGeneration: 0 },
      },
      { action: 'wait', degraded: 'True PeerIdTaken' },
    ],
    [
      'changes permissions of a peer that may do something else',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann', permissions: { subscribe: false } }] } },
      { action: 'patchPeers' },
    ],
    [
      'gets tokens for peers that have none',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] } },
      { action: 'tokens' },
    ],
    [
      'writes the tokens that it got',
      {
        fate: present({ peers: [nodePeer('ann')] }),
        spec: { peers: [{ name: 'ann' }] },
        newTokens: new Map([['ann', { token: token(0, 24), url: 'h/s' }]]),
      },
      { action: 'writeSecret' },
    ],
    [
      'leaves a Secret alone that is not its own',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] }, secret: { foreign: true } },
      { action: 'wait', degraded: 'True SecretNotOurs' },
    ],
    [
      'removes a Secret that a Room of its name left',
      { fate: present({ peers: [nodePeer('ann')] }), spec: { peers: [{ name: 'ann' }] }, secret: { foreign: true, left: true } },
      { action: 'deleteSecret' },
    ],
    [
      'removes the Secret of peers that it had',
      { fate: present(), secret: { foreign: false, peers: new Map(), keyGeneration: 0 } },
      { action: 'deleteSecret' },
    ],
    ['leaves another’s Secret where it has no peers', { fate: present(), secret: { foreign: true } }, { action: 'wait', phase: 'Ready' }],
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
    ['keeps a token in the first half of its life', withToken(-11, 13), { action: 'wait', phase: 'Ready' }],
    ['renews a token in the second half of its life', withToken(-13, 11), { action: 'tokens' }],
    ['renews a token that is over', withToken(-30, -6), { action: 'tokens' }],
    ['renews a token from the future once', withToken(5, 29), { action: 'tokens' }],
    ['keeps it where the clock of the node is known to be ahead', withToken(5, 29, { skewMs: 5 * 3_600_000 }), { action: 'wait' }],
    [
      'keeps a token that looks old where the clock of the node is known to be behind',
      withToken(-30, -6, { skewMs: -30 * 3_600_000 }),
      { action: 'wait' },
    ],
    [
      'renews all tokens where the keys of the cluster were rotated',
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
      'writes another URL where there is one address for all nodes',
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

  test('gives the URL of any node where there is one, with the scheme of a socket', () => {
    const cluster = {
      name: 'media',
      defaults: { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null },
      api: 'https://m.example.com/api',
      keyGeneration: 0,
    };
    const { action } = reconcile(observed(withToken(-1, 23, { cluster })));
    assert.equal(action.type === 'writeSecret' && action.peers.get('ann')?.url, 'wss://m.example.com/api/socket/peer/websocket');
  });

  test('looks again when half of the life of its first token is over', () => {
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

  test('tells where and since when it is', () => {
    const { status } = reconcile(observed({ fate: present() }));
    assert.deepEqual(
      [status.node, status.address, status.incarnation, status.cluster],
      ['media-0', '127.0.0.1:5002', incarnation, 'media'],
    );
    assert.equal(status.createdAt, '2024-11-21T18:15:48Z');
  });

  test('changes nothing at a second look', () => {
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
      'that came to its end is not played again',
      { ...played(), componentEnds: new Map([['id-of-song', 'finished']]) },
      { action: 'wait', phase: 'Ready' },
    ],
    ['whose end nobody heard of is not played again', played(), { action: 'wait', phase: 'Ready' }],
    ['that crashed is added again', { ...played(), componentEnds: new Map([['id-of-song', 'crashed']]) }, { action: 'addComponents' }],
    [
      'that somebody removed is added again',
      { ...played(), componentEnds: new Map([['id-of-song', 'removed']]) },
      { action: 'addComponents' },
    ],
    [
      'that was taken for finished, and of which it is heard only then that somebody removed it, is added again',
      { ...played(), status: reconcile(observed(played())).status, componentEnds: new Map([['id-of-song', 'removed']]) },
      { action: 'addComponents' },
    ],
    [
      'that came to its end before the operator was started again is not played again',
      { ...played(), status: reconcile(observed(played())).status },
      { action: 'wait', phase: 'Ready' },
    ],
    ['whose options changed is played', { ...played(), desiredComponents: [wish('song', 'v2')] }, { action: 'addComponents' }],
    [
      'in a room that was made again is played again',
      { ...played(), fate: present({ incarnation: '01JD7Z0000000000000000000B' }) },
      { action: 'addComponents' },
    ],
  ]);
});

test('No decision leads into a circle: from any state the steps come to an end', () => {
  const spec = { maxPeers: 2, peers: [{ name: 'ann' }] };
  const state = observed({ spec, finalized: false, desiredComponents: [wish('a')] });
  const room = nodeRoom({ config: { ...nodeRoom().config, maxPeers: 9 } });
  const taken: string[] = [];
  for (let step = 0; step < 20; step += 1) {
    const { status, action } = reconcile(state);
    taken.push(action.type);
    if (action.type === 'wait') break;
    state.status = status;
    if (action.type === 'finalize') state.finalized = true;
    if (action.type === 'create') state.fate = present(room);
    if (state.fate.kind !== 'present') continue;
    const there = state.fate.room;
    if (action.type === 'patch') state.fate = present({ ...there, config: { ...there.config, ...action.config } });
    if (action.type === 'addComponents') state.fate = present({ ...there, components: [nodeComponent('a', 'v1')] });
    if (action.type === 'addPeers') state.fate = present({ ...there, peers: [nodePeer('ann')] });
    if (action.type === 'tokens') state.newTokens = new Map([['ann', { token: token(0, 24), url: 'h/s' }]]);
    if (action.type === 'writeSecret') state.secret = { foreign: false, peers: action.peers, keyGeneration: action.keyGeneration };
  }
  assert.deepEqual(taken, ['finalize', 'create', 'patch', 'addComponents', 'addPeers', 'tokens', 'writeSecret', 'wait']);
});
