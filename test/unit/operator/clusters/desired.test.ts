// Desired objects of a MediaCluster: common metadata, and problems of valid specs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disruptionBudget } from '../../../../operator/clusters/auxiliary-objects.ts';
import { configFiles, configObjects } from '../../../../operator/clusters/config-files.ts';
import { sharedObjects, slotObjects, specProblems } from '../../../../operator/clusters/desired.ts';
import { podSelector, selectorText } from '../../../../operator/clusters/names.ts';
import { pod } from '../../../../operator/clusters/pods/pod.ts';
import { missingSecrets } from '../../../../operator/clusters/secrets/generated-secrets.ts';
import { richSpec, testCluster, testFacts } from '../../../kit/fakes/media-cluster.ts';

const cluster = testCluster(richSpec);
const facts = testFacts();
const slot = { index: 1, basePort: 30_500 };
const reasons = (spec: object, changes = {}) => specProblems(testCluster(spec), testFacts(changes)).map(({ reason }) => reason);

function everything() {
  const files = configFiles(cluster, facts);
  assert.ok('config' in files);
  const { media, others } = slotObjects(cluster, slot);
  assert.ok(media);
  const random = (size: number) => Buffer.alloc(size);
  const made = missingSecrets(cluster, { secrets: new Map() }, random);
  return [
    ...sharedObjects(cluster, facts),
    disruptionBudget(cluster, 1),
    ...configObjects(cluster, files),
    ...made,
    // The Service of the pod is among the shared objects, because the Ingress names it.
    ...others.filter(({ kind }) => kind !== 'Service'),
    media,
    pod(cluster, facts, slot),
  ];
}

test('every object is in the namespace of its cluster, owned by it and labeled', () => {
  for (const { kind, metadata } of everything()) {
    assert.equal(metadata.namespace, 'calls', kind);
    assert.deepEqual(metadata.ownerReferences, [
      {
        apiVersion: 'mediarooms.dev/v1alpha1',
        kind: 'MediaCluster',
        name: 'media',
        uid: cluster.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.equal(metadata.labels['mediarooms.dev/cluster'], 'media');
    assert.equal(metadata.labels['app.kubernetes.io/managed-by'], 'mediarooms-operator');
    assert.equal(metadata.labels['app.kubernetes.io/instance'], 'media');
  }
});

test('names are unique per kind, and only pods match the pod selector', () => {
  const objects = everything();
  assert.equal(new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size, objects.length);
  for (const { kind, metadata } of objects) {
    const selected = Object.entries(podSelector('media')).every(([key, value]) => metadata.labels[key] === value);
    assert.equal(selected, kind === 'Pod', `${kind} ${metadata.name}`);
  }
  assert.equal(
    selectorText(podSelector('media')),
    'app.kubernetes.io/name=mediarooms,app.kubernetes.io/component=node,mediarooms.dev/cluster=media',
  );
});

test('the same cluster always gives the same objects', () => {
  assert.deepEqual(everything(), everything());
});

test('disabled objects are not created', () => {
  const kinds = (spec: object, changes = {}) => sharedObjects(testCluster(spec), testFacts(changes)).map(({ kind }) => kind);
  assert.deepEqual(kinds({}), ['ServiceAccount', 'Service', 'Service', 'NetworkPolicy']);
  assert.ok(kinds(richSpec).includes('ServiceMonitor'));
  assert.ok(!kinds(richSpec, { serviceMonitors: false }).includes('ServiceMonitor'));
});

test('a ServiceMonitor scrapes every pod once, because it selects only the headless Service', () => {
  const objects = everything();
  const monitor = objects.find(({ kind }) => kind === 'ServiceMonitor');
  assert.ok(monitor?.kind === 'ServiceMonitor');
  const { matchLabels } = monitor.spec.selector;
  const found = objects.filter(
    ({ kind, metadata }) => kind === 'Service' && Object.entries(matchLabels).every(([key, value]) => metadata.labels[key] === value),
  );
  assert.deepEqual(
    found.map(({ metadata }) => metadata.name),
    ['media-nodes'],
  );
  assert.equal(monitor.metadata.labels.release, 'prometheus');
  const { relabelings: _, ...endpoint } = monitor.spec.endpoints[0];
  assert.deepEqual(endpoint, { port: 'metrics', interval: '30s' });
});

test('recordings without storage and fields without effect are reported', () => {
  const config = { componentsUsed: ['recording'] };
  assert.deepEqual(reasons({}), []);
  assert.deepEqual(reasons({ config }), ['RecordingsNotKept']);
  assert.deepEqual(reasons({ config, storage: { persistentVolumeClaim: { size: '1Gi' } } }), []);
  assert.deepEqual(reasons({ config: { ...config, s3: richSpec.config.s3 }, secrets: richSpec.secrets }), []);
  assert.deepEqual(reasons(richSpec, { serviceMonitors: false }), ['NoServiceMonitors']);
  const routed = (way: object) => ({ turn: { enabled: true, tlsSecretName: 'tls', tlsRoutes: { host: 'turn.example', ...way } } });
  assert.deepEqual(reasons(routed({ gateway: { parentRefs: [{ name: 'public' }] } })), ['NoTlsRoutes']);
  assert.deepEqual(reasons(routed({ traefik: {} })), ['NoIngressRouteTcps']);
  assert.deepEqual(reasons(routed({})), []);
  assert.deepEqual(reasons({ media: { exposure: 'hostPort', ports: { from: 40_000, to: 40_003 } } }), ['TooFewPorts']);
});
