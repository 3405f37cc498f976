// The definitions at the operator's start, in a real API server.
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { crdVersion, definitions, versionAnnotation } from '../../crds/crd-manifests.ts';
import { ensureCrds } from '../../operator/crds/ensure-crds.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { silentLog } from '../../operator/log.ts';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';

const server = await startApiServer({ after }, { users: [{ name: 'stranger' }, { name: 'operator' }] });
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

/** As a definition of another version, with a schema that takes everything. */
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
 * Until instances can be listed, or there is no such kind. Where the API server cannot do that yet ("storage is (re)initializing"), a deletion
 * is never finished: its own note of the failure makes its second try a conflict, after which it does not try again (crd_finalizer.go of
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

describe('The operator at its start', () => {
  beforeEach(async () => {
    await remove([...names, 'halls.mediarooms.dev']);
  });

  it('makes both definitions, and Rooms can be made at once', async (t) => {
    await ensure(t);
    await kubectl(['create', '-f', '-'], { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'Room', metadata: { name: 'first' } });
    await kubectl(['create', '-f', '-'], { apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name: 'first' } });
  });

  it('writes nothing where they are there', async (t) => {
    await ensure(t);
    const before = await Promise.all(names.map(installed));
    await ensure(t);
    assert.deepEqual(await Promise.all(names.map(installed)), before);
  });

  it('does so when three of them start at once', async (t) => {
    await Promise.all([ensure(t), ensure(t), ensure(t)]);
    for (const name of names) assert.equal((await installed(name)).metadata.annotations[versionAnnotation], crdVersion);
  });

  it('replaces an older one, whoever installed it and however', async (t) => {
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

  it('leaves a newer one alone', async (t) => {
    await kubectl(['create', '-f', '-'], otherVersion('1000.0.0'));
    await kubectl(['wait', '--for=condition=Established', `crd/${names[0]}`]);
    const before = await installed(names[0]);
    await ensure(t);
    assert.deepEqual(await installed(names[0]), before);
  });

  it('only looks where it may not change definitions, and says what is missing', async (t) => {
    await assert.rejects(
      ensure(t, { apply: false, timeoutMs: 0 }),
      /^CrdError: The definition rooms.mediarooms.dev does not work: it is not installed, and this operator may not install it: kubectl apply -f crds\/$/,
    );
    await ensure(t);
    await ensure(t, { apply: false });
    const stranger = server.kubeconfigFor({ user: 'stranger' });
    await ensure(t, { kubeconfig: stranger });
    await remove(names);
    // They are served for a moment longer than they are there.
    await eventually('they are served no more', async () => (await server.client.call('/apis/mediarooms.dev/v1alpha1')).status !== 200);
    await assert.rejects(
      ensure(t, { kubeconfig: stranger, timeoutMs: 1_000 }),
      /The kind Room is not installed, and this operator may not install it \(.*stranger.*cannot get/,
    );
  });

  it('waits for one that is being deleted, and makes it anew', async (t) => {
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

  it('says which of its names another kind has', async (t) => {
    const hall = structuredClone(room) as unknown as { metadata: object; spec: { names: object } };
    hall.metadata = { name: 'halls.mediarooms.dev' };
    hall.spec.names = { kind: 'Hall', plural: 'halls', singular: 'hall', shortNames: ['mroom'] };
    await kubectl(['create', '-f', '-'], hall);
    await kubectl(['wait', '--for=condition=Established', 'crd/halls.mediarooms.dev']);
    // It makes the definition, of which the API server judges the names a moment later.
    await assert.rejects(ensure(t, { timeoutMs: 1_000 }), { name: 'CrdError' });
    await kubectl(['wait', '--for=condition=NamesAccepted=false', '--timeout=50s', `crd/${names[0]}`]);
    await assert.rejects(
      ensure(t, { timeoutMs: 0 }),
      /^CrdError: The definition rooms.mediarooms.dev does not work: its names are refused: "mroom" is already in use$/,
    );
  });

  it('survives an API server that is away for a while', async (t) => {
    const definitions = 'customresourcedefinitions.apiextensions.k8s.io';
    await kubectl(['create', 'clusterrole', 'definer', '--verb=get,create,patch', `--resource=${definitions}`]);
    await kubectl(['create', 'clusterrolebinding', 'definer', '--clusterrole=definer', '--user=operator']);
    await server.stopApiServer();
    const timeoutMs = 180_000;
    // Until it has read its rules it refuses all but the administrator.
    const ensured = [ensure(t, { timeoutMs }), ensure(t, { timeoutMs, kubeconfig: server.kubeconfigFor({ user: 'operator' }) })];
    await Promise.all([...ensured, sleep(500).then(() => server.startApiServer())]);
    assert.equal((await installed(names[1])).metadata.annotations[versionAnnotation], crdVersion);
  });
});
