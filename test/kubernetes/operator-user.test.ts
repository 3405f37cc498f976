// Commands of docs/guides/quickstart-kubernetes.md about Rooms, run verbatim, and the output of kubectl.
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { kubernetesPrograms } from '../kit/kube/binaries.ts';
import { ClusterFixture, condition, mediaCluster } from '../kit/kube/cluster-fixture.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { startOperator } from '../kit/kube/operator-process.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { waitForEvent } from '../kit/kube/read-objects.ts';
import { monitoringDefinitions, routeDefinition } from '../kit/kube/third-party-crds.ts';
import { makeTone } from '../kit/media/media-files.ts';
import { docCommands, runShell } from '../kit/processes/doc-commands.ts';

const root = join(import.meta.dirname, '../..');
const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const stage = new ClusterFixture(server, runner, startOperator({ after }, server));
await stage.operator.says(/started leading/);

const path = [dirname(kubernetesPrograms(['kube-apiserver', 'kubectl']).kubectl), process.env.PATH].join(delimiter);
const env = { ...process.env, PATH: path, KUBECONFIG: server.kubeconfig, KUBECACHEDIR: join(server.dir, 'cache') };

test('the quick start creates Ready Rooms on real nodes, and kubectl shows, explains and deletes them', async () => {
  await cp(join(root, 'examples'), join(server.dir, 'examples'), { recursive: true });
  await makeTone(join(server.dir, 'welcome.ogg'), 440, 60);
  const said = new Map<string, string>();
  const lines = docCommands('docs/guides/quickstart-kubernetes.md', 'Rooms').filter((line) => line.startsWith('kubectl '));
  for (const line of lines) {
    // The Event is written after the status; a user would be slower.
    if (line.includes(' describe ')) await waitForEvent(stage.server, 'webinar', 'Ready');
    said.set(line.replace(/^kubectl /, '').split(/ -| --/)[0] ?? '', await runShell(line, { cwd: server.dir, env }));
  }
  const table = said.get('get mroom')?.split('\n') ?? [];
  assert.match(table[0] ?? '', /^NAME +PHASE +NODE +PEERS +ADDRESS +AGE +ROOMID +COMPONENTS +REASON/);
  assert.match(table.find((row) => row.startsWith('standup')) ?? '', /Ready +media-0 +0 +127\.[\d.]+:8080 +\d+s +standup/);
  assert.match(table.find((row) => row.startsWith('webinar')) ?? '', /Ready +media-0 .* webinar-2026 +1\/1 /);
  assert.match(said.get('get secret webinar-peers') ?? '', /^eyJ/);
  assert.match(
    said.get('describe mroom webinar') ?? '',
    /Events:\n.*\n.*\n *Normal +Ready .* Room webinar-2026 is on node media-0, and everything declared in the spec is ready/,
  );
  assert.match(said.get('explain room.spec.recreate') ?? '', /ENUM:\n *Always\n *Never.*recreates it/s);
  assert.deepEqual(await stage.list('rooms'), []);
});

test('third-party kinds installed after the operator are used without a restart', async () => {
  const gateway = { parentRefs: [{ name: 'public' }], host: 'late.example' };
  await server.apply(mediaCluster('late', { replicas: 0, gateway, monitoring: { serviceMonitor: {} } }));
  const degraded = await stage.waitFor('mediaClusters', 'late', (cluster) => condition(cluster, 'Degraded')?.status === 'True');
  assert.match(condition(degraded, 'Degraded').message, /^Monitoring\.serviceMonitor has no effect, .* Gateway has no effect, /);
  await server.apply([...monitoringDefinitions, routeDefinition]);
  await stage.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s');
  for (const kind of ['serviceMonitors', 'httpRoutes'] as const) await stage.waitFor(kind, 'late', (object) => object !== undefined);
  await stage.waitFor('mediaClusters', 'late', (cluster) => condition(cluster, 'Degraded').status === 'False');
  // From then on they are restored like all others.
  const { uid } = (await stage.get('httpRoutes', 'late')).metadata;
  await stage.kubectl('delete', 'httproute', 'late');
  await stage.waitFor('httpRoutes', 'late', (route) => route !== undefined && route.metadata.uid !== uid);
  assert.equal(stage.operator.running, true);
});
