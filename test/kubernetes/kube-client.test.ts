// Kubernetes client of the operator against a real API server.
import assert from 'node:assert/strict';
import { after, describe, it, type TestContext } from 'node:test';
import type { KubeClient } from '../../operator/kube/client.ts';
import { EventRecorder } from '../../operator/kube/event-recorder.ts';
import { setFinalizer } from '../../operator/kube/finalizers.ts';
import { isConflict, KubeError } from '../../operator/kube/http/kube-error.ts';
import type { WatchEvent } from '../../operator/kube/http/responses.ts';
import { controllerReference, type KubeObject, resources, type Stored } from '../../operator/kube/objects.ts';
import { writeStatus } from '../../operator/kube/status-writer.ts';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { silentLog } from '../kit/silent-log.ts';
import { connectTo, untilServed, type Widget, widget, widgetDefinition, widgets } from './kube-widgets.ts';

type ConfigMap = KubeObject & { data?: Record<string, string> };
type Managed = { managedFields?: { manager: string; operation: string; subresource?: string; fieldsV1: object }[] };

const inDefault = (name: string) => ({ namespace: 'default', name });
const configMap = (name: string, data: Record<string, string>) =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: inDefault(name), data }) satisfies ConfigMap;

const server = await startApiServer({ after }, { users: [{ name: 'unprivileged' }] });
await server.apply(widgetDefinition);

describe('A Kubernetes client', () => {
  const connect = (t: TestContext) => connectTo(t, server.kubeconfig);
  const ready = async (t: TestContext): Promise<KubeClient> => {
    const client = await connect(t);
    await untilServed(client);
    return client;
  };

  it('applies its fields, keeps fields of others, and is idempotent', async (t) => {
    const client = await connect(t);
    const first = await client.apply<ConfigMap>(resources.configMaps, configMap('applied', { a: '1', b: '2' }));
    const second = await client.apply<ConfigMap>(resources.configMaps, configMap('applied', { a: '1', b: '2' }));
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    assert.equal(
      (await server.kubectl(['patch', 'configmap', 'applied', '--type=merge', '-p', '{"data":{"c":"3","a":"theirs"}}'])).code,
      0,
    );
    const third = await client.apply<ConfigMap>(resources.configMaps, configMap('applied', { a: '9' }));
    assert.deepEqual(third.data, { a: '9', c: '3' });
  });

  it('sends every field verbatim, also those that typed clients drop', async (t) => {
    const client = await connect(t);
    const spec = { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: { matchLabels: { a: 'b' } } }] }] };
    const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: inDefault('from'), spec };
    assert.deepEqual((await client.apply<KubeObject & { spec: object }>(resources.networkPolicies, policy)).spec, spec);
  });

  it('rejects with the message of the API server for unknown fields and invalid values', async (t) => {
    const client = await ready(t);
    const refused = (message: RegExp) => (error: unknown) => error instanceof KubeError && message.test(error.message);
    await assert.rejects(
      client.apply(widgets, { ...widget('wrong'), spec: { size: 1, colour: 'red' } }),
      refused(/\.spec\.colour: field not declared in schema/),
    );
    await assert.rejects(client.create(widgets, { ...widget('wrong'), spec: { size: 100 } }), refused(/a widget is smaller than 100/));
    assert.equal(await client.get(widgets, inDefault('wrong')), undefined);
  });

  it('creates nothing in a dry run, but returns the result', async (t) => {
    const client = await ready(t);
    const would = await client.apply<Widget>(widgets, widget('dry', 5), { dryRun: true });
    assert.equal(would.spec.size, 5);
    assert.equal(await client.get(widgets, inDefault('dry')), undefined);
  });

  it('creates once, and changes and deletes only the expected version and uid', async (t) => {
    const client = await ready(t);
    const made = await client.create<Widget>(widgets, widget('once'));
    await assert.rejects(client.create(widgets, widget('once')), { status: 409, reason: 'AlreadyExists' });
    const { resourceVersion, uid } = made.metadata;
    const changed = await client.patch<Widget>(widgets, inDefault('once'), { metadata: { resourceVersion }, spec: { size: 2 } });
    assert.equal(changed?.spec.size, 2);
    await assert.rejects(client.patch(widgets, inDefault('once'), { metadata: { resourceVersion }, spec: { size: 3 } }), (error) =>
      isConflict(error),
    );
    assert.equal(await client.delete(widgets, inDefault('once'), { uid: '11111111-1111-1111-1111-111111111111' }), false);
    await assert.rejects(client.delete(widgets, inDefault('once'), { uid, resourceVersion }), (error) => isConflict(error));
    assert.equal(await client.delete(widgets, inDefault('once'), { uid }), true);
    assert.equal(await client.delete(widgets, inDefault('once'), { uid }), false);
  });

  it('lists several pages with each object once', async (t) => {
    const client = await connect(t);
    const labels = { listed: 'yes' };
    const make = (index: number) =>
      client.create(resources.configMaps, { ...configMap(`listed-${index}`, {}), metadata: { ...inDefault(`listed-${index}`), labels } });
    // In batches, because the timeout of a request includes its time in the queue.
    for (let first = 0; first < 1100; first += 100) await Promise.all(Array.from({ length: 100 }, (_, index) => make(first + index)));
    const { items, resourceVersion } = await client.list<ConfigMap>(resources.configMaps, { labelSelector: 'listed=yes' });
    assert.equal(new Set(items.map(({ metadata }) => metadata.name)).size, 1100);
    assert.ok(items.every(({ kind, apiVersion }) => kind === 'ConfigMap' && apiVersion === 'v1'));
    assert.match(resourceVersion, /^\d+$/);
  });

  it('writes a status only if it changes, and never to another object of the same name', async (t) => {
    const client = await ready(t);
    const made = await client.create<Widget>(widgets, widget('watched'));
    assert.equal(await writeStatus(client, widgets, made, { seen: 1, phase: 'Ready' }), true);
    const seen = await client.get<Widget>(widgets, inDefault('watched'));
    assert.ok(seen);
    assert.deepEqual(seen.status, { seen: 1, phase: 'Ready' });
    assert.equal(await writeStatus(client, widgets, seen, { phase: 'Ready', seen: 1 }), false);
    // A stale copy is read again, and the status is unchanged.
    assert.equal(await writeStatus(client, widgets, made, { seen: 1, phase: 'Ready' }), false);
    assert.equal((await client.get(widgets, inDefault('watched')))?.metadata.resourceVersion, seen.metadata.resourceVersion);
    assert.equal(await writeStatus(client, widgets, made, { seen: 2 }), true);
    const last = await client.get<Widget>(widgets, inDefault('watched'));
    assert.ok(last);
    assert.deepEqual([last.status, last.spec, last.metadata.generation], [{ seen: 2 }, { size: 1 }, 1]);
    const managers = (last.metadata as Managed).managedFields?.map(({ manager, subresource }) => [manager, subresource]);
    assert.ok(managers?.some(([manager, subresource]) => manager === 'mediarooms-operator-status' && subresource === 'status'));
    await client.delete(widgets, inDefault('watched'));
    await assert.rejects(writeStatus(client, widgets, seen, { seen: 3 }), { status: 404 });
    await client.create<Widget>(widgets, widget('watched'));
    await assert.rejects(writeStatus(client, widgets, seen, { seen: 3 }), { status: 409 });
  });

  it('adds and removes its finalizer without changing finalizers of others', async (t) => {
    const client = await ready(t);
    const made = await client.create<Widget>(widgets, widget('held'));
    const held = await setFinalizer(client, widgets, made, 'mediarooms.dev/room', true);
    assert.deepEqual(held?.metadata.finalizers, ['mediarooms.dev/room']);
    assert.equal(await setFinalizer(client, widgets, held as Stored<Widget>, 'mediarooms.dev/room', true), held);
    const other = await client.patch<Widget>(widgets, inDefault('held'), {
      metadata: { finalizers: ['mediarooms.dev/room', 'other/one'] },
    });
    assert.ok(held && other);
    await assert.rejects(setFinalizer(client, widgets, held, 'mediarooms.dev/room', false), (error) => isConflict(error));
    await client.delete(widgets, inDefault('held'));
    const dying = await client.get<Widget>(widgets, inDefault('held'));
    assert.ok(dying?.metadata.deletionTimestamp);
    const left = await setFinalizer(client, widgets, dying, 'mediarooms.dev/room', false);
    assert.deepEqual(left?.metadata.finalizers, ['other/one']);
    await setFinalizer(client, widgets, left as Stored<Widget>, 'other/one', false);
    assert.equal(await client.get(widgets, inDefault('held')), undefined);
    assert.equal(await setFinalizer(client, widgets, left as Stored<Widget>, 'other/one', false), undefined);
  });

  it('discovers kinds and its permissions', async (t) => {
    const client = await ready(t);
    assert.deepEqual(await Promise.all([widgets, resources.pods, resources.serviceMonitors].map((kind) => client.serves(kind))), [
      true,
      true,
      false,
    ]);
    assert.equal(await client.can('create', resources.pods, 'default'), true);
    const unprivileged = await connectTo(t, server.kubeconfigFor({ user: 'unprivileged' }));
    assert.equal(await unprivileged.can('get', resources.nodes), false);
    await assert.rejects(unprivileged.get(resources.secrets, inDefault('x')), (error) => {
      assert.ok(error instanceof KubeError && error.status === 403 && error.reason === 'Forbidden');
      return error.message.startsWith('secrets "x" is forbidden: User "unprivileged" cannot get resource "secrets"');
    });
  });

  it('receives changes and bookmarks of a watch', async (t) => {
    // A watch of 6 s, which ends after its bookmark.
    const client = await connectTo(t, server.kubeconfig, { random: () => -0.98 });
    const { resourceVersion } = await client.list(resources.configMaps, { namespace: 'default' });
    const events: WatchEvent[] = [];
    const versionOf = (event: WatchEvent | undefined) => event?.object.metadata.resourceVersion ?? resourceVersion;
    const watch = () => {
      const since = versionOf(events.at(-1));
      const options = { namespace: 'default', labelSelector: 'watched=yes', resourceVersion: since, idleMs: 30_000 };
      return client.watch(resources.configMaps, options, (event) => events.push(event));
    };
    const watching = watch();
    const labels = { watched: 'yes' };
    await client.create(resources.configMaps, { ...configMap('seen', {}), metadata: { ...inDefault('seen'), labels } });
    await client.patch(resources.configMaps, inDefault('seen'), { data: { a: '1' } });
    await client.delete(resources.configMaps, inDefault('seen'));
    const last = await client.create(resources.configMaps, configMap('unseen', {}));
    await watching;
    const knowsLast = () => Number(versionOf(events.at(-1))) >= Number(last.metadata.resourceVersion);
    // On a slow machine the watch may have ended before the last change.
    if (!knowsLast()) await watch();
    assert.equal(events.at(-1)?.type, 'BOOKMARK');
    assert.ok(knowsLast(), 'the bookmark includes the missed change');
    const types = events.map(({ type }) => type).filter((type) => type !== 'BOOKMARK');
    assert.deepEqual(types, ['ADDED', 'MODIFIED', 'DELETED']);
  });

  it('records Events, with repetitions as a series', async (t) => {
    const client = await ready(t);
    const made = await client.create<Widget>(widgets, widget('eventful'));
    const recorder = new EventRecorder({ client, controller: 'mediarooms.dev/operator', instance: 'operator-1', log: silentLog() });
    for (let i = 0; i < 3; i++) recorder.emit(made, 'Warning', 'TooSmall', 'Measure', 'The widget is too small.');
    recorder.emit(made, 'Normal', 'Made', 'Make', `Long: ${'ü'.repeat(2000)}`);
    // Events are written in the background, and close() waits two seconds at most.
    const reported = async () => {
      const { items } = await client.list<KubeObject & { regarding: { name: string } }>(resources.events, { namespace: 'default' });
      return items.filter(({ regarding }) => regarding.name === 'eventful').length;
    };
    await eventually('two Events exist', async () => (await reported()) >= 2);
    await recorder.close();
    assert.equal(recorder.dropped, 0);
    const { stdout } = await server.kubectl(['events', '--for', 'widget/eventful', '--no-headers']);
    assert.match(stdout, /Warning +TooSmall +Widget\/eventful +The widget is too small\./);
    const { items } = await client.list<KubeObject & { series?: { count: number }; reason: string }>(resources.events, {
      namespace: 'default',
    });
    const small = items.filter(({ reason }) => reason === 'TooSmall');
    assert.deepEqual(
      small.map(({ series }) => series?.count),
      [3],
    );
  });

  it('lets the garbage collector delete an owned object only by its owner reference', async (t) => {
    const client = await ready(t);
    const owner = await client.create<Widget>(widgets, widget('owner'));
    const owned = await client.apply(resources.configMaps, {
      ...configMap('owned', {}),
      metadata: { ...inDefault('owned'), ownerReferences: [controllerReference(owner)] },
    });
    assert.equal(owned.metadata.ownerReferences?.[0]?.uid, owner.metadata.uid);
  });
});
