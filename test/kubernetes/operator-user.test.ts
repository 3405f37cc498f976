// Commands of docs/guides/quickstart-kubernetes.md about Rooms, run verbatim, and the output of kubectl.
import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { kubernetesPrograms } from '../kit/kube/binaries.ts';
import { smallCluster, startOperatorFixture } from '../kit/kube/cluster-fixture.ts';
import { condition, waitForEvent } from '../kit/kube/read-objects.ts';
import { monitoringDefinitions, routeDefinition } from '../kit/kube/third-party-crds.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { docCommands, runShell } from '../kit/processes/doc-commands.ts';

const root = join(import.meta.dirname, '../..');
const fixture = await startOperatorFixture({ after });
const { server } = fixture;

const path = [dirname(kubernetesPrograms(['kube-apiserver', 'kubectl']).kubectl), process.env.PATH].join(delimiter);
const env = { ...process.env, PATH: path, KUBECONFIG: server.kubeconfig, KUBECACHEDIR: join(server.dir, 'cache') };

/** The room of the second example. */
async function assertAsDeclared(): Promise<void> {
  const { config, peers, components } = (await (await fixture.api('media-0')).get('/room/webinar-2026')).body.data;
  assert.deepEqual(config, {
    roomId: 'webinar-2026',
    maxPeers: 50,
    videoCodec: 'h264',
    admission: 'automatic',
    metadata: null,
    webhookUrl: 'https://app.example.com/hooks/rooms',
    peerlessPurgeTimeout: null,
    peerDisconnectedTimeout: 60,
  });
  const [audience, speaker] = peers.sort((one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1));
  assert.deepEqual([speaker.id, speaker.metadata, audience.id], ['speaker', { displayName: 'Ann' }, 'audience']);
  assert.deepEqual(audience.permissions, { publish: [], subscribe: true, data: false });
  assert.deepEqual([components.length, components[0].type, components[0].properties.filePath], [1, 'file', 'welcome.ogg']);
}

test('the quick start creates Ready Rooms on real nodes, and kubectl shows, explains and deletes them', async () => {
  await cp(join(root, 'examples'), join(server.dir, 'examples'), { recursive: true });
  // Minutes long, because a finished component is removed; a ConfigMap has at most 1 MiB.
  await writeFile(join(server.dir, 'welcome.ogg'), oggFile(Array.from({ length: 20_000 }, (_, index) => opusPacket(10, index))));
  const said = new Map<string, string>();
  const lines = docCommands('docs/guides/quickstart-kubernetes.md', 'Rooms').filter((line) => line.startsWith('kubectl '));
  for (const line of lines) {
    if (line.includes(' describe ')) {
      await assertAsDeclared();
      // The Event is written after the status; a user would be slower.
      await waitForEvent(fixture.server, 'webinar', 'Ready');
    }
    said.set(line.replace(/^kubectl /, '').split(/ -| --/)[0] ?? '', await runShell(line, { cwd: server.dir, env }));
  }
  const table = said.get('get mroom')?.split('\n') ?? [];
  assert.match(table[0] ?? '', /^NAME +PHASE +NODE +PEERS +ADDRESS +AGE +ROOMID +LEGS +COMPONENTS +REASON/);
  assert.match(table.find((row) => row.startsWith('standup')) ?? '', /Ready +media-0 +0 +127\.[\d.]+:8080 +\d+s +standup/);
  assert.match(table.find((row) => row.startsWith('webinar')) ?? '', /Ready +media-0 .* webinar-2026 +1 +1\/1 /);
  assert.match(said.get('get secret webinar-peers') ?? '', /^eyJ/);
  assert.match(
    said.get('describe mroom webinar') ?? '',
    /Events:\n.*\n.*\n *Normal +Ready .* Room webinar-2026 is on node media-0, and everything declared in the spec is ready/,
  );
  assert.match(said.get('explain room.spec.recreate') ?? '', /ENUM:\n *Always\n *Never.*recreates it/s);
  assert.deepEqual(await fixture.list('rooms'), []);
});

test('third-party kinds installed after the operator are used without a restart', async () => {
  const gateway = { parentRefs: [{ name: 'public' }], host: 'late.example' };
  await server.apply(smallCluster('late', { replicas: 0, gateway, monitoring: { serviceMonitor: {} } }));
  const degraded = await fixture.waitFor('mediaClusters', 'late', (cluster) => condition(cluster, 'Degraded')?.status === 'True');
  assert.match(condition(degraded, 'Degraded').message, /^Monitoring\.serviceMonitor has no effect, .* Gateway has no effect, /);
  await server.apply([...monitoringDefinitions, routeDefinition]);
  await fixture.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s');
  for (const kind of ['serviceMonitors', 'httpRoutes'] as const) await fixture.waitFor(kind, 'late', (object) => object !== undefined);
  await fixture.waitFor('mediaClusters', 'late', (cluster) => condition(cluster, 'Degraded').status === 'False');
  // From then on they are restored like all others.
  const { uid } = (await fixture.get('httpRoutes', 'late')).metadata;
  await fixture.kubectl('delete', 'httproute', 'late');
  await fixture.waitFor('httpRoutes', 'late', (route) => route !== undefined && route.metadata.uid !== uid);
  assert.equal(fixture.operator.running, true);
});
