// Status of a MediaCluster.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MediaClusterStatus } from '../../../../../crds/types.ts';
import type { ConfigFiles } from '../../../../../operator/clusters/config-files.ts';
import type { PodSnapshot } from '../../../../../operator/clusters/pods/pod-snapshot.ts';
import { configState } from '../../../../../operator/clusters/status/config-state.ts';
import {
  asConditionMessage,
  type PodReport,
  type StatusInput,
  statusOf,
  withStableCounters,
} from '../../../../../operator/clusters/status/status.ts';
import type { Stored } from '../../../../../operator/kube/objects.ts';
import type { NodeHealth } from '../../../../../operator/nodes/schemas.ts';
import type { MediaCluster } from '../../../../../operator/objects.ts';
import { aPod, withPeers } from '../pods.ts';

const cluster = {
  apiVersion: 'mediarooms.dev/v1alpha1',
  kind: 'MediaCluster',
  metadata: { name: 'c', namespace: 'n', uid: 'u', resourceVersion: '1', generation: 4 },
  spec: {},
} as Stored<MediaCluster>;

function seen(index: number, but: Partial<PodSnapshot> = {}): PodReport {
  const metadata = {
    name: `c-${index}`,
    uid: `uid-${index}`,
    resourceVersion: '1',
    annotations: { 'mediarooms.dev/media-address': '192.0.2.1' },
  };
  const status = {
    phase: 'Running',
    podIP: `10.0.0.${index}`,
    conditions: [{ type: 'Ready', status: but.ready === false ? 'False' : 'True' }],
  };
  return { pod: { apiVersion: 'v1', kind: 'Pod', metadata, status }, facts: aPod(index, but) };
}

const input: StatusInput = {
  cluster,
  pods: [seen(1, withPeers(4)), seen(0)],
  desired: 2,
  config: { status: 'True', reason: 'InForce', message: 'The configuration is effective on all 2 nodes.' },
  progress: [],
  problems: [],
  keyGeneration: 0,
  adminTokenSecret: 'c-api-tokens',
  url: 'http://c.n.svc:8080',
  now: new Date('2026-11-21T12:00:00.500Z'),
};
const condition = (but: Partial<StatusInput>, type: string) => {
  const { status, reason, message } = statusOf({ ...input, ...but }).conditions?.find((each) => each.type === type) ?? {};
  return [status, reason, message];
};

test('counters are sums, and nodes are sorted by index', () => {
  const status = statusOf(input);
  assert.deepEqual(
    [status.observedGeneration, status.replicas, status.readyReplicas, status.desiredReplicas, status.rooms, status.forwardedTracks],
    [4, 2, 2, 2, 2, 4],
  );
  assert.equal(status.selector, 'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=node,mediarooms.dev/cluster=c');
  assert.deepEqual(status.nodes?.[1], {
    name: 'c-1',
    node: 'svc@10.0.0.1',
    address: '192.0.2.1',
    state: 'Ready',
    rooms: 2,
    forwardedTracks: 4,
  });
});

test('a node is pending, draining, terminating or lost', () => {
  const drain = { reason: 'Rollout' as const, deadline: 1 };
  const pods = [
    seen(0, { ready: false }),
    seen(1, { drain }),
    seen(2, { ending: true }),
    seen(3, { lost: true }),
    seen(4, withPeers(1, 'draining')),
  ];
  assert.deepEqual(
    statusOf({ ...input, pods }).nodes?.map(({ state }) => state),
    ['Pending', 'Draining', 'Terminating', 'Lost', 'Draining'],
  );
});

test('Available is True with one ready node, otherwise it contains the reason', () => {
  assert.deepEqual(condition({ pods: [seen(0), seen(1, { ready: false })] }, 'Available'), [
    'True',
    'NodesReady',
    '1 of 2 nodes are ready.',
  ]);
  const none = condition({ pods: [seen(0, { ready: false })], desired: 1 }, 'Available');
  assert.deepEqual(none, ['False', 'NoNodeReady', '0 of 1 node is ready. Pod c-0 is not ready yet.']);
  assert.deepEqual(condition({ pods: [], desired: 0 }, 'Available').slice(0, 2), ['False', 'ScaledToZero']);
  assert.equal(condition({ pods: [seen(0, { lost: true })], desired: 1 }, 'Available')[1], 'NoNodeReady');
});

test('Progressing is not Complete while nodes are missing', () => {
  const progressing = (but: Partial<StatusInput>) => condition(but, 'Progressing');
  assert.deepEqual(progressing({}), ['False', 'Complete', 'All nodes match the spec.']);
  assert.deepEqual(progressing({ desired: 3 }), ['False', 'Stopped', '1 node is missing and cannot be created; see condition Degraded.']);
  assert.deepEqual(progressing({ pods: [] }), ['False', 'Stopped', '2 nodes are missing and cannot be created; see condition Degraded.']);
});

test('Degraded contains all problems, with the reason of the first', () => {
  const problems = [
    { reason: 'SecretMissing', message: 'Secret "s" does not exist' },
    { reason: 'HostLost', message: 'Kubernetes node "h" is unreachable' },
  ];
  assert.deepEqual(condition({ problems }, 'Degraded'), [
    'True',
    'SecretMissing',
    'Secret "s" does not exist. Kubernetes node "h" is unreachable.',
  ]);
  assert.equal(condition({}, 'Degraded')[0], 'False');
  assert.deepEqual(condition({ progress: [{ reason: 'Draining', message: 'Pod c-0 is terminating.' }] }, 'Progressing'), [
    'True',
    'Draining',
    'Pod c-0 is terminating.',
  ]);
});

describe('kstatus conditions', () => {
  const notOurs = { reason: 'NotOurs', message: 'Service "c" is not ours' };
  const waiting = { status: 'False', reason: 'Waiting', message: 'Waiting for c-1 to load the configuration.' } as const;
  const invalid = { status: 'False', reason: 'SecretInvalid', message: 'The value is invalid.' } as const;
  const missing = { status: 'False', reason: 'SecretMissing', message: 'It does not exist.' } as const;
  const cases: [name: string, but: Partial<StatusInput>, expected: string][] = [
    ['are Ready alone if the nodes match the spec', {}, 'Ready=True/NodesReady'],
    [
      'are Ready with a problem that changes nothing about the nodes',
      { problems: [{ reason: 'RecordingsNotKept', message: 'They are lost' }] },
      'Ready=True/NodesReady',
    ],
    [
      'are Ready while a rollout is held, because the spec or an update of the operator asks for that',
      { held: { reason: 'RolloutHeld', message: '1 pod keeps an older template: rollout.paused is true.' } },
      'Ready=True/NodesReady',
    ],
    [
      'are Ready with zero nodes',
      { pods: [], desired: 0, config: { status: 'Unknown', reason: 'NoNodes', message: 'None.' } },
      'Ready=True/ScaledToZero',
    ],
    [
      'are Reconciling while nodes change',
      { progress: [{ reason: 'RollingOut', message: 'Pod c-0 will be replaced.' }] },
      'Ready=False/RollingOut Reconciling=True/RollingOut',
    ],
    ['are Reconciling while nodes load a configuration', { config: waiting }, 'Ready=False/Waiting Reconciling=True/Waiting'],
    ['are Reconciling while a Secret is missing', { config: missing }, 'Ready=False/SecretMissing Reconciling=True/SecretMissing'],
    [
      'are Reconciling while a Secret is missing without which no pod is created',
      { pods: [], config: missing },
      'Ready=False/SecretMissing Reconciling=True/SecretMissing',
    ],
    ['are Stalled by a Secret that is invalid', { config: invalid }, 'Ready=False/SecretInvalid Stalled=True/SecretInvalid'],
    ['are Stalled if nodes are missing and nothing creates them', { desired: 3 }, 'Ready=False/Stopped Stalled=True/Stopped'],
    [
      'are Stalled, not Reconciling, by a problem that only a user can solve',
      { problems: [notOurs], progress: [{ reason: 'Starting', message: 'Pod c-0 is not ready yet.' }] },
      'Ready=False/NotOurs Stalled=True/NotOurs',
    ],
  ];
  for (const [name, but, expected] of cases)
    test(name, () => {
      const { conditions = [] } = statusOf({ ...input, ...but });
      const found = conditions.filter(({ type }) => ['Ready', 'Reconciling', 'Stalled'].includes(type));
      assert.equal(found.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' '), expected);
    });
});

test('stored counters are kept if only counters changed', () => {
  const stored: MediaClusterStatus = {
    rooms: 9,
    forwardedTracks: 90,
    nodes: [{ name: 'c-1', state: 'Ready', rooms: 9, forwardedTracks: 90 }],
  };
  const status = withStableCounters(statusOf(input), stored);
  assert.deepEqual([status.rooms, status.forwardedTracks, status.nodes?.[1]?.rooms, status.nodes?.[0]?.rooms], [9, 90, 9, undefined]);
});

test('a held rollout is not Progressing, with the reason', () => {
  const held = { reason: 'RolloutHeld', message: '1 pod keeps an older template: rollout.paused is true.' } as const;
  assert.deepEqual(condition({ held }, 'Progressing'), ['False', held.reason, held.message]);
});

test('messages get a capital letter and a full stop', () => {
  assert.equal(asConditionMessage('the end'), 'The end.');
  assert.equal(asConditionMessage('Why?'), 'Why?');
});

const files: ConfigFiles = {
  config: { path: '/etc/mediarooms/config/config.yaml', text: '', sha256: 'a' },
  secrets: { path: '/etc/mediarooms/secrets/secrets.yaml', text: '', sha256: 'b' },
  cookie: '',
  hash: 'ab',
};
function health(config: string, secrets: string, error: string | null = null): NodeHealth {
  const named = [
    { name: '/etc/mediarooms/config/config.yaml', sha256: config },
    { name: '/etc/mediarooms/secrets/secrets.yaml', sha256: secrets },
  ];
  const load = { rooms: 0, connectedPeers: 0, forwardedTracks: 0 };
  return { state: 'accepting', load, distribution: { nodesInCluster: 1 }, config: { files: named, error } };
}

test('ConfigSynced is True when every running node reports the hashes of both files', () => {
  const good = { name: 'c-0', health: health('a', 'b') };
  assert.equal(configState(files, [good]).status, 'True');
  assert.deepEqual(configState(files, [good, { name: 'c-1', health: health('a', 'old') }]), {
    status: 'False',
    reason: 'Waiting',
    message: 'Waiting for c-1 to load the configuration.',
  });
  assert.equal(configState(files, [good, { name: 'c-1', health: undefined }]).reason, 'Waiting');
  assert.equal(configState(files, []).status, 'Unknown');
});

test('the error of a node that rejects the files is quoted', () => {
  const refusing = { name: 'c-1', health: health('old', 'b', 'Expected limits.maxRooms to be a number, got: x') };
  assert.deepEqual(configState(files, [refusing]), {
    status: 'False',
    reason: 'Refused',
    message: 'The node of pod c-1 rejected the configuration: Expected limits.maxRooms to be a number, got: x',
  });
});

test('problems of the files keep the previous configuration', () => {
  const state = configState({ problems: [{ reason: 'SecretMissing', message: 'Secret "s" does not exist' }] }, []);
  assert.deepEqual([state.status, state.reason], ['False', 'SecretMissing']);
  assert.match(state.message, /^The previous configuration stays effective: Secret "s" does not exist\.$/);
});
