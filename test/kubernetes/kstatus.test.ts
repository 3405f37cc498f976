// Health of Rooms and MediaClusters: what Flux (kstatus), Argo CD, the alerts and traces show, on a real API server with operator and nodes.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parseTraceparent } from '../../api/core/traceparent.ts';
import { traceOfRoom } from '../../operator/nodes/request-trace.ts';
import { eventually } from '../kit/eventually.ts';
import { argoHealthOf } from '../kit/kube/argo-health.ts';
import { smallCluster, startOperatorFixture } from '../kit/kube/cluster-fixture.ts';
import { type Kstatus, kstatusOf } from '../kit/kube/kstatus.ts';
import { condition, room } from '../kit/kube/read-objects.ts';
import { OtlpReceiver } from '../kit/otlp-receiver.ts';
import { Prometheus } from '../kit/processes/prometheus.ts';
import { tempFolder } from '../kit/temp-folder.ts';

const collector = await OtlpReceiver.start({ after });
const fixture = await startOperatorFixture(
  { after },
  { operator: { env: { OPERATOR_TRACES_ENDPOINT: collector.url, OPERATOR_TRACES_SAMPLE_PERCENT: '100' } } },
);
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
    const podTemplate = { extraEnv: [{ name: 'SVC_TRACES_ENDPOINT', value: collector.url }] };
    await server.apply([smallCluster('media', { podTemplate }), room('early')]);
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

describe('traces', () => {
  it('of a Room contain the action of the operator and the request at the node', async () => {
    const traced = await fixture.makeRoom('traced', { clusterRef: { name: 'media' } });
    const { traceId = '' } = parseTraceparent(traceOfRoom(traced as Parameters<typeof traceOfRoom>[0], 100)) ?? {};
    const [action, request] = await collector.trace(traceId, ['Room create', 'POST /room']);
    assert.deepEqual([action.service, request.service, request.parentSpanId], ['mediarooms-operator', 'mediarooms', action.spanId]);
  });
});

describe('alerts', () => {
  it('of the chart fire in Prometheus once an operator and a node have ended', async (t) => {
    const { podIP } = fixture.runner.pod('media-0').status ?? {};
    const jobs = { mediarooms: [`${podIP}:9568`], 'mediarooms-operator': [new URL(fixture.operator.url ?? '').host] };
    const prometheus = await Prometheus.start(t, jobs, [rulesWithoutDelay(tempFolder(t))]);
    const sees = async (expression: string, expected: string[]) => {
      const check = async () => (await prometheus.query(expression)).map(({ labels: { alertname = '' } }) => alertname).sort();
      await eventually(`${expression} is ${expected}`, async () => (await check()).join() === expected.join(), { every: 200 });
    };
    await sees('label_replace(min(leader_election_master_status) == 1 and min(up) == 1, "alertname", "none", "", "")', ['none']);
    // Others may fire for a moment, because nothing delays them.
    const firing = 'ALERTS{alertstate="firing",alertname=~"MediaroomsOperatorDown|MediaroomsNodeDown"}';
    await sees(firing, []);
    await fixture.operator.stop();
    await sees(firing, ['MediaroomsOperatorDown']);
    await kubectl('delete', 'pod', 'media-0', '--force', '--grace-period=0');
    await sees(firing, ['MediaroomsNodeDown', 'MediaroomsOperatorDown']);
  });
});

/** The rules of the chart; a `for` would make the test wait that long. */
function rulesWithoutDelay(folder: string): string {
  const file = join(folder, 'rules.yaml');
  const rules = readFileSync(join(import.meta.dirname, '../../helm/files/alert-rules.yaml'), 'utf8');
  writeFileSync(file, rules.replaceAll(/^ +for: .*\n/gm, ''));
  return file;
}
