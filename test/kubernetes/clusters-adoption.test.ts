// Adoption of objects that lost their owner: by `kubectl delete --cascade=orphan`, and by a restore from a backup in both orders.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { resources } from '../../operator/kube/objects.ts';
import { isAvailable, isReady, smallCluster, startOperatorFixture } from '../kit/kube/cluster-fixture.ts';
import { type Kind, type KubeJson, readSecret, room } from '../kit/kube/read-objects.ts';

const storage = { persistentVolumeClaim: { size: '1Gi' } };
const spec = { replicas: 2, storage };
// A Lease that outlasts a busy processor: this test is not about it.
const fixture = await startOperatorFixture({ after }, { operator: { env: { OPERATOR_LEASE_DURATION: '60000' } } });
const { server } = fixture;

const label = 'app.kubernetes.io/managed-by=mediarooms-operator';
const kinds = [
  'secrets',
  'configMaps',
  'serviceAccounts',
  'persistentVolumeClaims',
  'services',
  'podDisruptionBudgets',
  'networkPolicies',
  'pods',
] as const satisfies Kind[];

async function managed(): Promise<KubeJson[]> {
  // Items of a list have no kind.
  const listOf = async (plural: Kind) => {
    const { apiVersion, kind } = resources[plural];
    return (await fixture.list(plural)).map((object) => ({ ...object, apiVersion, kind }));
  };
  const lists = await Promise.all(kinds.map(listOf));
  return lists.flat().filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/managed-by'] === 'mediarooms-operator');
}

const pods = async () =>
  (await fixture.list('pods'))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata: { name, uid } }) => ({ name, uid }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));

/** Waits until the MediaCluster is Available, owns all objects, and has that number of pods. */
async function settled(count: number): Promise<void> {
  await fixture.waitFor('mediaClusters', 'media', isAvailable, 180_000);
  const { metadata } = await fixture.get('mediaClusters', 'media');
  await fixture.waitFor('mediaClusters', 'media', ({ status }) => status.replicas === count && status.readyReplicas === count, 180_000);
  const strange = (await managed()).filter(({ kind, metadata: { name, ownerReferences = [] } }) => {
    const ofRoom = kind === 'Secret' && name.endsWith('-peers');
    return !ofRoom && ownerReferences.find(({ controller }: { controller?: boolean }) => controller)?.uid !== metadata.uid;
  });
  assert.deepEqual(
    strange.map(({ kind, metadata: { name } }) => `${kind} ${name}`),
    [],
  );
}

/** What a backup contains of an object: no uid, owner, status or allocated address. */
function backupOf({ apiVersion, kind, metadata, spec, data, type, automountServiceAccountToken }: KubeJson): KubeJson {
  const { name, namespace, labels, annotations } = metadata;
  const { nodeName: _node, clusterIP, clusterIPs, volumeName: _volume, ...other } = spec ?? {};
  const rest = clusterIP === 'None' ? { ...other, clusterIP, clusterIPs } : other;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, labels, annotations },
    ...(spec && { spec: rest }),
    ...(data && { data, type }),
    ...(automountServiceAccountToken !== undefined && { automountServiceAccountToken }),
  };
}

async function deleteAll(): Promise<void> {
  await fixture.kubectl('delete', 'mcl', 'media', '--timeout=60s');
  // The garbage collector discovers new kinds every 30 s.
  for (const kind of ['pods', 'secrets', 'services', 'persistentvolumeclaims', 'configmaps'])
    await fixture.kubectl('wait', '--for=delete', kind, '-l', label, '--timeout=120s');
}

test('a MediaCluster that was deleted with --cascade=orphan and created again adopts its pods, and their rooms continue', async () => {
  await server.apply(smallCluster('media', spec));
  await settled(2);
  const { status } = await fixture.makeRoom('class', { peers: [{ name: 'anna' }] });
  const before = await pods();
  const tokens = await fixture.secret('media-api-tokens');
  const foreign = { ...backupOf(await fixture.get('services', 'media')), metadata: { name: 'theirs', namespace: 'default' } };
  await server.apply({ ...foreign, metadata: { ...foreign.metadata, labels: { 'app.kubernetes.io/managed-by': 'mediarooms-operator' } } });
  await fixture.kubectl('delete', 'mcl', 'media', '--cascade=orphan', '--timeout=60s');
  assert.deepEqual(await pods(), before);
  await server.apply(smallCluster('media', spec));
  await fixture.waitFor('pods', 'media-0', ({ metadata }) => metadata.ownerReferences?.length === 1);
  // An object without all labels stays foreign.
  assert.equal((await fixture.get('services', 'theirs')).metadata.ownerReferences, undefined);
  await fixture.kubectl('delete', 'service', 'theirs');
  await settled(2);
  assert.deepEqual(await pods(), before);
  assert.deepEqual(await fixture.secret('media-api-tokens'), tokens);
  const after = await fixture.waitFor('rooms', 'class', isReady);
  assert.equal(after.status.incarnation, status.incarnation);
});

test('pods and Secrets that are restored before their MediaCluster are adopted by it', async () => {
  const backup = (await managed()).map(backupOf).filter(({ metadata }) => !metadata.name.endsWith('-peers'));
  const peers = backupOf(await fixture.get('secrets', 'class-peers'));
  const tokens = await fixture.secret('media-api-tokens');
  await fixture.kubectl('delete', 'room', 'class', '--timeout=60s');
  await deleteAll();
  await server.apply([...backup, peers]);
  const restored = await pods();
  assert.deepEqual(
    restored.map(({ name }) => name),
    ['media-0', 'media-1'],
  );
  await server.apply([smallCluster('media', spec), room('class', { peers: [{ name: 'anna' }] })]);
  await settled(2);
  assert.deepEqual(await pods(), restored);
  assert.deepEqual(await fixture.secret('media-api-tokens'), tokens);
  // The peer Secret of the Room is created again.
  const { metadata } = await fixture.waitFor('rooms', 'class', isReady);
  await fixture.waitFor('secrets', 'class-peers', (secret) => secret?.metadata.ownerReferences?.[0].uid === metadata.uid);
});

test('pods that are restored after their MediaCluster join it, and surplus pods are removed', async () => {
  const backup = (await managed()).map(backupOf).filter(({ kind }) => kind === 'Pod' || kind === 'PersistentVolumeClaim');
  const later = backup.map((object) => {
    const name = object.metadata.name.replace('media-1', 'media-7');
    const text = JSON.stringify(object)
      .replaceAll('media-1', 'media-7')
      .replace('"mediarooms.dev/index":"1"', '"mediarooms.dev/index":"7"');
    return name === object.metadata.name ? object : JSON.parse(text);
  });
  await fixture.kubectl('delete', 'room', 'class', '--timeout=60s');
  await deleteAll();
  await server.apply(smallCluster('media', spec));
  await fixture.waitFor('pods', 'media-0', (pod) => pod !== undefined);
  await server.apply(later.filter(({ metadata }) => metadata.name === 'media-7'));
  await fixture.waitFor('pods', 'media-7', (pod) => pod === undefined || pod.metadata.ownerReferences?.length === 1);
  await settled(2);
  assert.equal((await pods()).length, 2);
  assert.match((await readSecret(server, 'media-api-tokens'))?.admin ?? '', /^[\w-]{40,}$/);
});
