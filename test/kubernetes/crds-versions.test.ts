// Versions of our CRDs. Objects stored under older, laxer ones are rejected if new, but can be read, reconciled and deleted (ratcheting of
// the API server). Ratcheting does not cover types, list map keys and fields that a rule requires: these may never become stricter.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { definitions } from '../../crds/crd-manifests.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { type KubeObject, type Resource, resources } from '../../operator/kube/objects.ts';
import type { Room } from '../../operator/objects.ts';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { silentLog } from '../kit/silent-log.ts';

const server = await startApiServer({ after });
const namespace = 'default';
const finalizers = ['mediarooms.dev/room'];

/** A lax CRD as an early version: every spec and status is accepted. */
function lax(definition: object): KubeObject {
  const copy = structuredClone(definition) as KubeObject & { spec: { versions: { schema: unknown; selectableFields?: unknown }[] } };
  copy.metadata.annotations = { 'mediarooms.dev/definitions-version': '0.1.0' };
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  for (const version of copy.spec.versions) {
    version.schema = { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } };
    delete version.selectableFields;
  }
  return copy;
}

const oldRooms: Record<string, object> = {
  // This name needs a roomId today.
  'old.name': { maxPeers: 5 },
  'old-values': {
    roomId: 'my room',
    maxPeers: 0,
    videoCodec: 'av1',
    webhookUrl: 'ftp://hooks.example.com',
    color: 'blue',
    peers: [{ name: 'ann.example' }],
    components: [
      { name: 'music', type: 'file' },
      { name: 'mix', type: 'rtmp' },
    ],
  },
  'old-peers-twice': { peers: [{ name: 'ann' }, { name: 'ann' }] },
  'old-gap': { clusterRef: {} },
};
const oldCluster = { replicas: 30, autoscaling: { maxReplicas: 50 }, config: { logLevel: 'loud' } };

const s3 = { bucket: 'calls', secretRef: { name: 'keys' } };
const old = (name: string, components: object[]) =>
  stringify({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'Room', metadata: { name }, spec: { components } });
const current = (name: string, components: object[]) => old(name, components).replace('v1alpha1', 'v1alpha2');
const oldForm = [
  { name: 'stream', type: 'hls', options: { layout: 'speaker' } },
  { name: 'tape', type: 'recording', options: { s3 } },
];
const currentForm = [
  { name: 'stream', hls: { layout: 'speaker' } },
  { name: 'tape', recording: { s3 } },
];

describe('An object stored under a laxer CRD', () => {
  let client: KubeClient;
  const rooms = (name: string) => ({ namespace, name });
  const object = (resource: Resource, name: string, spec: object): KubeObject & { spec: object } => ({
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    metadata: { name, namespace, finalizers },
    spec,
  });

  before(async () => {
    client = await KubeClient.connect({
      ...{ kubeconfig: server.kubeconfig, log: silentLog(), userAgent: 'test', timeoutMs: 30_000, fieldManager: 'mediarooms-operator' },
    });
    const names = Object.values(definitions).map((definition) => (definition as unknown as KubeObject).metadata.name);
    for (const definition of Object.values(definitions)) await client.create(resources.customResourceDefinitions, lax(definition));
    for (const name of names) await server.kubectl(['wait', '--for=condition=Established', `crd/${name}`]);
    // It is established a moment before it is served.
    for (const resource of [resources.rooms, resources.mediaClusters])
      await eventually(`${resource.kind} is served`, () => client.serves(resource));
    for (const [name, spec] of Object.entries(oldRooms)) await client.create(resources.rooms, object(resources.rooms, name, spec));
    await client.create(resources.mediaClusters, object(resources.mediaClusters, 'old.cluster', oldCluster));
    for (const definition of Object.values(definitions))
      await client.apply(resources.customResourceDefinitions, definition as unknown as KubeObject & Record<string, unknown>);
    await untilStrict();
  });
  after(() => client.close());

  /** A CRD becomes effective a moment after it was written. */
  async function untilStrict(): Promise<void> {
    for (const resource of [resources.rooms, resources.mediaClusters]) {
      const wrong = object(resource, 'probe', { replicas: -1, maxPeers: -1 });
      const create = ['create', '--dry-run=server', '--validate=ignore', '-f', '-'];
      const isRefused = async () => (await server.kubectl(create, { input: JSON.stringify(wrong) })).stderr.includes('is invalid');
      await eventually(`${resource.kind} is strict`, isRefused);
    }
  }

  it('is rejected if it is new', async () => {
    for (const [name, spec] of Object.entries(oldRooms))
      await assert.rejects(client.create(resources.rooms, object(resources.rooms, `new-${name}`, spec)), name);
  });

  it('can be read and listed, without unknown fields and with defaults', async () => {
    const { items } = await client.list<Room>(resources.rooms, { namespace });
    assert.deepEqual(items.map(({ metadata }) => metadata.name).sort(), Object.keys(oldRooms).sort());
    const values = await client.get<Room>(resources.rooms, rooms('old-values'));
    const { color: _, ...known } = oldRooms['old-values'] as { color: string };
    assert.deepEqual(values?.spec, { ...known, recreate: 'Always' });
  });

  it('can have its status written, by apply and by patch', async () => {
    for (const name of Object.keys(oldRooms)) {
      const status = {
        phase: 'Failed',
        conditions: [
          { type: 'Ready', status: 'False', reason: 'SpecInvalid', message: 'It is old.', lastTransitionTime: '2026-11-21T12:00:00Z' },
        ],
      };
      const { apiVersion, kind } = resources.rooms;
      const options = { subresource: 'status', fieldManager: 'mediarooms-operator-status' } as const;
      const applied = await client.apply<Room>(resources.rooms, { apiVersion, kind, metadata: { name, namespace }, status }, options);
      assert.equal(applied.status?.phase, 'Failed', name);
      const patched = await client.patch<Room>(resources.rooms, rooms(name), { status: { phase: 'Pending' } }, { subresource: 'status' });
      assert.equal(patched?.status?.phase, 'Pending', name);
    }
    const ref = rooms('old.cluster');
    assert.ok(await client.patch(resources.mediaClusters, ref, { status: { replicas: 1 } }, { subresource: 'status' }));
  });

  it('can be labeled, and changed in its valid fields', async () => {
    for (const name of Object.keys(oldRooms)) {
      const patched = await client.patch<Room>(resources.rooms, rooms(name), {
        metadata: { labels: { seen: 'yes' } },
        spec: { maxPeers: 7 },
      });
      assert.deepEqual([patched?.metadata.labels, patched?.spec.maxPeers], [{ seen: 'yes' }, 7], name);
    }
  });

  it('cannot be changed to another invalid value', async () => {
    await assert.rejects(
      client.patch(resources.rooms, rooms('old-values'), { spec: { webhookUrl: 'gopher://x' } }),
      /must be an http or https URL/,
    );
  });

  it('can be deleted, because its finalizer can be removed', async () => {
    for (const name of Object.keys(oldRooms)) {
      assert.ok(await client.delete(resources.rooms, rooms(name)));
      const leaving = await client.get(resources.rooms, rooms(name));
      const { resourceVersion } = leaving?.metadata ?? {};
      await client.patch(resources.rooms, rooms(name), { metadata: { resourceVersion, finalizers: [] } });
      assert.equal(await client.get(resources.rooms, rooms(name)), undefined, name);
    }
    await client.delete(resources.mediaClusters, rooms('old.cluster'));
    await client.patch(resources.mediaClusters, rooms('old.cluster'), { metadata: { finalizers: [] } });
    assert.equal(await client.get(resources.mediaClusters, rooms('old.cluster')), undefined);
  });
});

/** The API server changes only apiVersion, so objects of both forms keep all fields in both versions. */
describe('The CRD of Room', () => {
  async function run(args: readonly string[], input = ''): Promise<{ stdout: string; stderr: string }> {
    const { code, stdout, stderr } = await server.kubectl(args, { input });
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  }

  const componentsOf = async (name: string, version: string): Promise<unknown> =>
    JSON.parse((await run(['get', `rooms.${version}.mediarooms.dev`, name, '-o', 'json'])).stdout).spec.components;

  it('accepts a manifest of v1alpha1, reports how it is written now, and keeps all its fields in both versions', async () => {
    const { stderr } = await run(['apply', '-f', '-'], old('old', oldForm));
    assert.match(stderr, /Warning: mediarooms\.dev\/v1alpha1 Room is deprecated\. In mediarooms\.dev\/v1alpha2 a component is written as/);
    for (const version of ['v1alpha1', 'v1alpha2']) assert.deepEqual(await componentsOf('old', version), oldForm, version);
  });

  it('keeps all fields of v1alpha2 for clients that read v1alpha1', async () => {
    const { stderr } = await run(['apply', '-f', '-'], current('current', currentForm));
    assert.equal(stderr, '');
    for (const version of ['v1alpha1', 'v1alpha2']) assert.deepEqual(await componentsOf('current', version), currentForm, version);
  });

  it('lets a Room of v1alpha1 change in other fields and in its status through v1alpha2', async () => {
    await run(['patch', 'rooms.v1alpha2.mediarooms.dev', 'old', '--type=merge', '--patch', '{"spec":{"maxPeers":3}}']);
    const status = ['--subresource=status', '--type=merge', '--patch', '{"status":{"phase":"Ready"}}'];
    await run(['patch', 'rooms.v1alpha2.mediarooms.dev', 'old', ...status]);
    assert.deepEqual(await componentsOf('old', 'v1alpha2'), oldForm);
  });

  it('lets a manifest of v1alpha1 be replaced by one of v1alpha2', async () => {
    await run(['apply', '-f', '-'], current('old', currentForm));
    assert.deepEqual(await componentsOf('old', 'v1alpha2'), currentForm);
  });

  it('allows one hls component in either form', async () => {
    for (const text of [
      old('two', [...oldForm, { name: 'more', hls: {} }]),
      old('two', [...oldForm, { name: 'more', type: 'hls' }]),
      current('two', [...currentForm, { name: 'more', hls: {} }]),
    ]) {
      const { code, stderr } = await server.kubectl(['apply', '-f', '-'], { input: text });
      assert.equal(code, 1);
      assert.match(stderr, /a room has at most one component of type hls/);
    }
  });
});
