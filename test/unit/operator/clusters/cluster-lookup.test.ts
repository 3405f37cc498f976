// MediaCluster lookups of the Room controller.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterLookup } from '../../../../operator/clusters/cluster-lookup.ts';
import type { ObservedPod, ObservedSecret, Store } from '../../../../operator/clusters/observed-objects.ts';
import { HostMonitor } from '../../../../operator/clusters/pods/hosts.ts';
import { type KubeObject, keyOf, type Stored } from '../../../../operator/kube/objects.ts';
import type { MediaCluster } from '../../../../operator/objects.ts';

function storeOf<T extends KubeObject>(...objects: Stored<T>[]): Store<T> {
  const byKey = new Map(objects.map((object) => [keyOf(object), object]));
  return { get: (key) => byKey.get(key), list: () => [...byKey.values()], synced: true };
}

function cluster(name: string, namespace = 'n', spec: object = {}): Stored<MediaCluster> {
  const metadata = { name, namespace, uid: `uid-${name}`, resourceVersion: '1' };
  return { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata, spec: spec as MediaCluster['spec'] };
}

function pod(
  name: string,
  of: string,
  status: ObservedPod['status'],
  more: { metadata?: object; nodeName?: string } = {},
): Stored<ObservedPod> {
  const owner = { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', name: of, uid: `uid-${of}`, controller: true };
  const metadata = {
    name,
    namespace: 'n',
    uid: `uid-${name}`,
    resourceVersion: '1',
    labels: { 'mediarooms.dev/index': '0' },
    ownerReferences: [owner],
    ...more.metadata,
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    ...(more.nodeName ? { spec: { nodeName: more.nodeName } } : {}),
    ...(status ? { status } : {}),
  };
}

function secret(name: string, data: Record<string, string>): Stored<ObservedSecret> {
  const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' }, data: encoded };
}

const ready = { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] };
const noHosts = new HostMonitor(undefined, () => 0);

function access(
  clusters: Stored<MediaCluster>[],
  pods: Stored<ObservedPod>[] = [],
  secrets: Stored<ObservedSecret>[] = [],
  hosts = noHosts,
) {
  const contents = { ...storeOf(...secrets), read: async () => new Map() };
  return new ClusterLookup({ mediaClusters: storeOf(...clusters), pods: storeOf(...pods), secrets: contents }, hosts);
}
const reason = (found: object) => ('reason' in found ? found.reason : undefined);

test('a cluster is found by name, or as the only one of its namespace', () => {
  const one = cluster('one');
  assert.deepEqual(access([one, cluster('two')]).find('n', 'one'), { cluster: one });
  assert.deepEqual(access([one, cluster('far', 'm')]).find('n', undefined), { cluster: one });
  assert.equal(reason(access([one]).find('n', 'two')), 'ClusterNotFound');
  assert.equal(reason(access([one]).find('m', undefined)), 'ClusterNotFound');
  assert.deepEqual(access([one, cluster('two')]).find('n', undefined), {
    reason: 'ClusterNotNamed',
    message: 'Namespace "n" has 2 MediaClusters: set spec.clusterRef.name to select one.',
  });
});

test('nodes are the pods of the cluster that have an address', () => {
  const pods = [
    pod('c-0', 'c', ready, { nodeName: 'host', metadata: { annotations: { 'mediarooms.dev/calls': 'signed' } } }),
    pod('c-1', 'c', { phase: 'Pending' }),
    pod('c-2', 'c', { ...ready, phase: 'Failed' }),
    pod('c-3', 'c', { ...ready, podIP: 'fd00::1' }, { metadata: { deletionTimestamp: '2026-11-21T12:00:00Z' } }),
    pod('d-0', 'd', ready),
  ];
  const usual = { ready: true, terminating: false, lost: false };
  assert.deepEqual(access([cluster('c'), cluster('d')], pods).nodes('n', 'c'), [
    { ...usual, pod: 'c-0', host: 'host', url: 'http://10.0.0.1:8080', signed: true },
    { ...usual, pod: 'c-3', url: 'http://[fd00::1]:8080', signed: false, terminating: true },
  ]);
  assert.deepEqual(access([], pods).nodes('n', 'c'), []);
});

test('a pod on a lost Kubernetes node is lost and not ready', () => {
  const nodes = (status: string) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: status, uid: status, resourceVersion: '1' },
    status: { conditions: [{ type: 'Ready', status }] },
  });
  let now = 0;
  const hosts = new HostMonitor(storeOf(nodes('True'), nodes('Unknown')), () => now);
  const seen = () => access([cluster('c')], [pod('c-0', 'c', ready, { nodeName: 'Unknown' })], [], hosts).nodes('n', 'c')[0];
  assert.deepEqual([seen()?.lost, seen()?.ready], [false, true]);
  now = 10_000;
  assert.deepEqual([seen()?.lost, seen()?.ready], [true, false]);
});

test('the token is the key of the operator in the Secret that the spec names', () => {
  const made = secret('c-api-tokens', { admin: 'a', operator: 'o' });
  const theirs = secret('theirs', { backend: 'b', 'dashboard.read': 'r' });
  const of = (spec: object) => access([cluster('c', 'n', spec)], [], [made, theirs]).token('n', 'c');
  assert.equal(of({}), 'o');
  assert.equal(of({ secrets: { apiTokens: { name: 'theirs' } } }), 'b');
  assert.equal(of({ secrets: { apiTokens: { name: 'missing' } } }), undefined);
  assert.equal(access([]).token('n', 'c'), undefined);
});

test('clients use the Ingress if there is one', () => {
  const through = access([]).publicUrl(cluster('c', 'n', { ingress: { host: 'media.example', tls: { secretName: 's' }, port: 8443 } }));
  assert.equal(through, 'https://media.example:8443');
  assert.equal(access([]).publicUrl(cluster('c')), undefined);
});
