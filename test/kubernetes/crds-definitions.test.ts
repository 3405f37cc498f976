// Installation of the CRDs at startup of the operator, in a real API server.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { crdVersion, definitions, versionAnnotation } from '../../crds/crd-manifests.ts';
import { ensureCrds } from '../../operator/crds/ensure-crds.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { silentLog } from '../kit/silent-log.ts';

const server = await startApiServer({ after }, { users: [{ name: 'unprivileged' }, { name: 'operator' }] });
const names = ['rooms.mediarooms.dev', 'mediaclusters.mediarooms.dev'] as const;
const room = definitions['room.yaml'] as unknown as StoredDefinition;

type StoredDefinition = {
  metadata: {
    uid?: string;
    resourceVersion?: string;
    annotations: Record<string, string>;
    finalizers?: string[];
    managedFields?: { manager: string; operation: string }[];
  };
  spec: { names: { shortNames: string[] }; versions: { schema: unknown }[] };
};

async function kubectl(args: readonly string[], input?: object): Promise<string> {
  const { code, stdout, stderr } = await server.kubectl(args, input && { input: JSON.stringify(input) });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function installed(name: string): Promise<StoredDefinition> {
  return JSON.parse(await kubectl(['get', `crd/${name}`, '-o', 'json', '--show-managed-fields']));
}

/** A CRD of another version, with a schema that accepts everything. */
function otherVersion(version: string): object {
  const copy = structuredClone(room);
  copy.metadata.annotations[versionAnnotation] = version;
  const [first] = copy.spec.versions;
  assert.ok(first);
  first.schema = {
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
  };
  delete (first as { selectableFields?: unknown }).selectableFields;
  return copy;
}

async function ensure(t: TestContext, more: { kubeconfig?: string; apply?: boolean; timeoutMs?: number } = {}): Promise<void> {
  const { kubeconfig = server.kubeconfig, ...options } = more;
  const client = await KubeClient.connect({
    ...{ kubeconfig, log: silentLog(), userAgent: 'test', timeoutMs: 30_000, fieldManager: 'mediarooms-operator' },
  });
  t.after(() => client.close());
  await ensureCrds({
    client,
    log: silentLog(),
    apply: true,
    signal: t.signal,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    now: () => performance.now(),
    ...options,
  });
}

/**
 * Waits until instances can be listed, or the kind does not exist. If the API server cannot list them yet ("storage is (re)initializing"),
 * a deletion never completes: recording the failure makes the retry a conflict, and there is no further retry (crd_finalizer.go of
 * Kubernetes 1.36).
 */
async function untilListed(definition: string): Promise<void> {
  const instances = `/apis/mediarooms.dev/v1alpha1/${definition.split('.')[0]}`;
  await eventually(`${definition} can be listed`, async () => (await server.client.call(instances)).status !== 429);
}

async function remove(definitions: readonly string[]): Promise<void> {
  for (const definition of definitions) await untilListed(definition);
  await kubectl(['delete', 'crd', ...definitions, '--ignore-not-found']);
}

const schemaOf = ({ spec }: StoredDefinition) => spec.versions[0]?.schema;

describe('An operator at startup', () => {
  beforeEach(async () => {
    await remove([...names, 'halls.mediarooms.dev']);
  });

  it('creates both CRDs, and Rooms can be created immediately', async (t) => {
    await ensure(t);
    await kubectl(['create', '-f', '-'], { apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata: { name: 'first' } });
    await kubectl(['create', '-f', '-'], { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name: 'first' } });
  });

  it('writes nothing if the CRDs exist', async (t) => {
    await ensure(t);
    const before = await Promise.all(names.map(installed));
    await ensure(t);
    assert.deepEqual(await Promise.all(names.map(installed)), before);
  });

  it('creates the CRDs once if three operators start concurrently', async (t) => {
    await Promise.all([ensure(t), ensure(t), ensure(t)]);
    for (const name of names) assert.equal((await installed(name)).metadata.annotations[versionAnnotation], crdVersion);
  });

  it('upgrades an older CRD, however it was installed', async (t) => {
    await kubectl(['apply', '-f', '-'], otherVersion('0.1.0'));
    await kubectl(['wait', '--for=condition=Established', `crd/${names[0]}`]);
    await kubectl(['create', '-f', '-'], {
      apiVersion: 'mediarooms.dev/v1alpha1',
      kind: 'Room',
      metadata: { name: 'kept' },
      spec: { maxPeers: 3 },
    });
    const { uid } = (await installed(names[0])).metadata;
    await ensure(t);
    const now = await installed(names[0]);
    assert.equal(now.metadata.uid, uid);
    assert.deepEqual(schemaOf(now), schemaOf(room));
    assert.match(await kubectl(['get', 'mroom/kept', '-o', 'jsonpath={.spec}']), /"maxPeers":3,"recreate":"Always"/);
  });

  it('does not change a newer CRD', async (t) => {
    await kubectl(['create', '-f', '-'], otherVersion('1000.0.0'));
    await kubectl(['wait', '--for=condition=Established', `crd/${names[0]}`]);
    const before = await installed(names[0]);
    await ensure(t);
    assert.deepEqual(await installed(names[0]), before);
  });

  it('reports missing CRDs if it has no permission to install them', async (t) => {
    await assert.rejects(
      ensure(t, { apply: false, timeoutMs: 0 }),
      /^CrdError: CRD rooms.mediarooms.dev is not usable: it is not installed, and this operator has no permission to install it: kubectl apply -f crds\/$/,
    );
    await ensure(t);
    await ensure(t, { apply: false });
    const unprivileged = server.kubeconfigFor({ user: 'unprivileged' });
    await ensure(t, { kubeconfig: unprivileged });
    await remove(names);
    // Kinds are served for a moment longer than their CRDs exist.
    await eventually(
      'they are not served any more',
      async () => (await server.client.call('/apis/mediarooms.dev/v1alpha1')).status !== 200,
    );
    await assert.rejects(
      ensure(t, { kubeconfig: unprivileged, timeoutMs: 1_000 }),
      /The CRD of kind Room is not installed, and this operator has no permission to install it \(.*unprivileged.*cannot get/,
    );
  });

  it('waits for a CRD that is being deleted, and recreates it', async (t) => {
    await ensure(t);
    const { uid } = (await installed(names[0])).metadata;
    await kubectl(['patch', 'crd', names[0], '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/wait"]}}']);
    await untilListed(names[0]);
    await kubectl(['delete', 'crd', names[0], '--wait=false']);
    const ensured = ensure(t);
    const early = await Promise.race([ensured.then(() => 'done'), sleep(700, 'waits')]);
    assert.equal(early, 'waits');
    await kubectl([
      'patch',
      'crd',
      names[0],
      '--type=json',
      '-p',
      '[{"op":"test","path":"/metadata/finalizers/0","value":"example.com/wait"},{"op":"remove","path":"/metadata/finalizers/0"}]',
    ]);
    await ensured;
    assert.notEqual((await installed(names[0])).metadata.uid, uid);
  });

  it('reports a name that another kind uses', async (t) => {
    const hall = structuredClone(room) as unknown as { metadata: object; spec: { names: object } };
    hall.metadata = { name: 'halls.mediarooms.dev' };
    hall.spec.names = { kind: 'Hall', plural: 'halls', singular: 'hall', shortNames: ['mroom'] };
    await kubectl(['create', '-f', '-'], hall);
    await kubectl(['wait', '--for=condition=Established', 'crd/halls.mediarooms.dev']);
    // It creates the CRD, whose names the API server checks a moment later.
    await assert.rejects(ensure(t, { timeoutMs: 1_000 }), { name: 'CrdError' });
    await kubectl(['wait', '--for=condition=NamesAccepted=false', '--timeout=50s', `crd/${names[0]}`]);
    await assert.rejects(
      ensure(t, { timeoutMs: 0 }),
      /^CrdError: CRD rooms.mediarooms.dev is not usable: its names were rejected: "mroom" is already in use$/,
    );
  });

  it('survives an API server outage', async (t) => {
    const definitions = 'customresourcedefinitions.apiextensions.k8s.io';
    await kubectl(['create', 'clusterrole', 'definer', '--verb=get,create,patch', `--resource=${definitions}`]);
    await kubectl(['create', 'clusterrolebinding', 'definer', '--clusterrole=definer', '--user=operator']);
    await server.stopApiServer();
    const timeoutMs = 180_000;
    // Until it has loaded its RBAC rules it rejects all but the administrator.
    const ensured = [ensure(t, { timeoutMs }), ensure(t, { timeoutMs, kubeconfig: server.kubeconfigFor({ user: 'operator' }) })];
    await Promise.all([...ensured, sleep(500).then(() => server.startApiServer())]);
    assert.equal((await installed(names[1])).metadata.annotations[versionAnnotation], crdVersion);
  });
});
