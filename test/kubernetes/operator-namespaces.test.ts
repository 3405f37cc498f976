// Watched namespaces that are deleted and created again, and a kind whose CRD is deleted, with the permissions of the chart. Most of
// its time is that after which the operator counts a namespace or a kind as lost.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { definitions } from '../../crds/crd-manifests.ts';
import { eventually } from '../kit/eventually.ts';
import { ClusterFixture, isAvailable, isReady, smallCluster } from '../kit/kube/cluster-fixture.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { renderChart } from '../kit/kube/helm.ts';
import { startOperator } from '../kit/kube/operator-process.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { room } from '../kit/kube/read-objects.ts';
import { routeDefinition } from '../kit/kube/third-party-crds.ts';

const watched = ['default', 'team', 'bare'];
const server = await startControlPlane({ after });
await server.apply([...Object.values(definitions), routeDefinition, ...['team', 'bare'].map(namespaceOf)]);
await server.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s']);
const runner = await startPodRunner(server);
const kubeconfig = server.kubeconfigFor({ token: await server.serviceAccountToken('default', 'mediarooms-operator') });
const permissions = await renderChart({ only: ['rbac.yaml'], values: { 'operator.watchNamespaces': watched } });
await server.apply(permissions);
for (const namespace of watched) await eventually(`the Role in ${namespace} is effective`, () => mayList(namespace), { every: 100 });
const fixture = new ClusterFixture(server, runner, start());
await fixture.operator.says(/started leading/);

function start() {
  // A Lease that outlasts a busy processor: this test is not about it.
  const env = { OPERATOR_WATCH_NAMESPACES: watched.join(' '), OPERATOR_LEASE_DURATION: '60000' };
  return startOperator({ after }, server, { kubeconfig, env });
}

function namespaceOf(name: string) {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

async function mayList(namespace: string): Promise<boolean> {
  return (await server.kubectl(['-n', namespace, 'get', 'rooms'], { kubeconfig })).code === 0;
}

async function makeAll(namespace: string): Promise<void> {
  await server.apply([smallCluster('media', {}, namespace), room('class', { peers: [{ name: 'anna' }] }, namespace)]);
  await fixture.waitFor('mediaClusters', 'media', isAvailable, 180_000, namespace);
  await fixture.waitFor('rooms', 'class', isReady, 120_000, namespace);
}

async function health(): Promise<{ status: number; text: string }> {
  const response = await fetch(`${fixture.operator.url}/healthz`, { signal: AbortSignal.timeout(30_000) });
  return { status: response.status, text: await response.text() };
}

test('the deletion of a watched namespace is not blocked by its Rooms and affects no other namespace', async () => {
  await Promise.all(watched.map(makeAll));
  // In this one the MediaCluster and its pods are deleted before.
  await fixture.kubectl('-n', 'bare', 'delete', 'mcl', 'media', '--timeout=60s');
  await fixture.kubectl('-n', 'bare', 'wait', '--for=delete', 'pod/media-0', '--timeout=90s');
  await Promise.all(['team', 'bare'].map((namespace) => fixture.kubectl('delete', 'namespace', namespace, '--timeout=180s')));
  await fixture.makeRoom('after');
  assert.equal((await health()).status, 200);
});

test('a kind that cannot be watched any more turns /healthz red within a minute', async () => {
  await fixture.kubectl('delete', 'crd', 'httproutes.gateway.networking.k8s.io', '--timeout=60s');
  let found = { status: 0, text: '' };
  await eventually(
    () => `/healthz is red: ${found.text}`,
    async () => {
      found = await health();
      return found.status === 503;
    },
    { within: 60_000, every: 500 },
  );
  assert.match(found.text, /\[-\]watches failed: httproutes cannot be watched: /);
});

test('an operator starts without a watched namespace that was deleted, and manages it when it exists again', async () => {
  await fixture.operator.stop();
  fixture.operator = start();
  await fixture.operator.says(/"namespaces":\["team","bare"\],"msg":"no access to namespaces, continuing without them"/, 110_000);
  await fixture.operator.says(/started leading/);
  await fixture.makeRoom('restarted');
  assert.equal((await health()).status, 200);
  await server.apply(namespaceOf('team'));
  await server.apply(permissions.filter(({ metadata }) => metadata.namespace !== 'bare'));
  await makeAll('team');
});
