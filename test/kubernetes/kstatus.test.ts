// Health of Rooms and MediaClusters: what Flux (kstatus) and Argo CD conclude, on a real API server with operator and nodes.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { argoHealthOf } from '../kit/kube/argo-health.ts';
import { smallCluster, startOperatorFixture } from '../kit/kube/cluster-fixture.ts';
import { type Kstatus, kstatusOf } from '../kit/kube/kstatus.ts';
import { condition, room } from '../kit/kube/read-objects.ts';

const fixture = await startOperatorFixture({ after });
const { server, kubectl } = fixture;

/** The health in Argo CD for a result of kstatus. */
const argo: Record<Kstatus, string> = { Current: 'Healthy', InProgress: 'Progressing', Failed: 'Degraded', Terminating: 'Progressing' };

/** Waits until kstatus is `expected`, and checks the health in Argo CD. @returns the condition of that type */
async function waitUntil(kind: 'rooms' | 'mediaClusters', name: string, expected: Kstatus, type = 'Ready'): Promise<string> {
  const object = await fixture.waitFor(kind, name, (each) => each !== undefined && kstatusOf(each) === expected);
  assert.equal((await argoHealthOf(kind, object)).status, argo[expected]);
  const { status = 'absent', reason = '' } = condition(object, type) ?? {};
  return `${type}=${status}/${reason}`;
}

describe('kstatus', () => {
  it('of objects that no operator has seen is InProgress', async () => {
    // The operator watches the namespace default only.
    const namespace = 'kube-public';
    await server.apply([smallCluster('unseen', {}, namespace), room('unseen', {}, namespace)]);
    for (const kind of ['mediaClusters', 'rooms'] as const) {
      const object = await fixture.get(kind, 'unseen', namespace);
      assert.deepEqual([object.status, kstatusOf(object)], [{ observedGeneration: -1 }, 'InProgress'], kind);
      assert.deepEqual(await argoHealthOf(kind, object), { status: 'Progressing', message: 'Waiting for the operator.' });
    }
  });

  it('of a MediaCluster is InProgress until all its nodes are ready, then Current', async () => {
    await server.apply([smallCluster('media'), room('early')]);
    const creating = await fixture.waitFor('mediaClusters', 'media', (each) => condition(each, 'Reconciling') !== undefined);
    assert.deepEqual([kstatusOf(creating), condition(creating, 'Ready').status], ['InProgress', 'False']);
    assert.equal(await waitUntil('mediaClusters', 'media', 'Current'), 'Ready=True/NodesReady');
    await kubectl('wait', '--for=condition=Ready', '--timeout=50s', 'mcl/media');
  });

  it('of a Room is Current once it is ready', async () => {
    assert.equal(await waitUntil('rooms', 'early', 'Current'), 'Ready=True/Ready');
  });

  it('of a Room without MediaCluster is InProgress, because the MediaCluster may follow', async () => {
    await server.apply(room('before-its-cluster', { clusterRef: { name: 'later' } }));
    const waiting = await fixture.waitFor('rooms', 'before-its-cluster', (each) => condition(each, 'Reconciling') !== undefined);
    assert.deepEqual([kstatusOf(waiting), condition(waiting, 'Reconciling').reason], ['InProgress', 'ClusterNotFound']);
  });

  it('of a spec that cannot work without a user is Failed, and Current after a correction', async () => {
    await server.apply(room('refused', { components: [{ name: 'clip', file: { filePath: 'nowhere.ogg' } }] }));
    assert.equal(await waitUntil('rooms', 'refused', 'Failed', 'Stalled'), 'Stalled=True/ComponentRefused');
    await server.apply(room('refused'));
    assert.equal(await waitUntil('rooms', 'refused', 'Current', 'Stalled'), 'Stalled=absent/');
    await server.apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'taken-nodes' }, spec: { ports: [{ port: 1 }] } });
    await server.apply(smallCluster('taken'));
    assert.equal(await waitUntil('mediaClusters', 'taken', 'Failed', 'Stalled'), 'Stalled=True/NotOurs');
  });

  it('of a MediaCluster that is scaled to zero is Current', async () => {
    await server.apply(smallCluster('zero', { replicas: 0 }));
    assert.equal(await waitUntil('mediaClusters', 'zero', 'Current'), 'Ready=True/ScaledToZero');
  });

  it('of a Finished Room is Current, without a condition Ready', async () => {
    await fixture.makeRoom('short', { clusterRef: { name: 'media' } });
    assert.equal((await (await fixture.api('media-0')).delete('/room/short')).status, 204);
    await fixture.waitFor('rooms', 'short', ({ status }) => status.phase === 'Finished');
    assert.equal(await waitUntil('rooms', 'short', 'Current', 'Finished'), 'Finished=True/Deleted');
    assert.equal(condition(await fixture.get('rooms', 'short'), 'Ready'), undefined);
    await kubectl('wait', '--for=condition=Finished', '--timeout=50s', 'mroom/short');
  });

  it('of a Room that is being deleted is Terminating', async () => {
    const foreign = { metadata: { finalizers: ['mediarooms.dev/room', 'example.com/other'] } };
    await kubectl('patch', 'mroom', 'early', '--type=merge', '-p', JSON.stringify(foreign));
    await kubectl('delete', 'mroom', 'early', '--wait=false');
    const released = await fixture.waitFor('rooms', 'early', ({ metadata }) => metadata.finalizers.join() === 'example.com/other');
    assert.equal(kstatusOf(released), 'Terminating');
    assert.deepEqual(await argoHealthOf('rooms', released), { status: 'Progressing', message: 'Being deleted.' });
    await kubectl('patch', 'mroom', 'early', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    await eventually('the Room is deleted', async () => (await fixture.get('rooms', 'early')) === undefined);
  });
});
