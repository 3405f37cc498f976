// Commands of the Kubernetes how-to pages, run verbatim on real nodes.
import assert from 'node:assert/strict';
import { delimiter, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { kubernetesPrograms } from '../kit/kube/binaries.ts';
import { ClusterFixture } from '../kit/kube/cluster-fixture.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { startOperator } from '../kit/kube/operator-process.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { docCommands, runShell } from '../kit/processes/doc-commands.ts';

const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const stage = new ClusterFixture(server, runner, startOperator({ after }, server));
await stage.operator.says(/started leading/);
const env = {
  ...process.env,
  PATH: [dirname(kubernetesPrograms(['kube-apiserver', 'kubectl']).kubectl), process.env.PATH].join(delimiter),
  KUBECONFIG: server.kubeconfig,
  KUBECACHEDIR: join(server.dir, 'cache'),
};
const cwd = join(import.meta.dirname, '../..');

test('the commands of docs/how-to/operate-kubernetes.md work: inspect, rotate, configure and scale', async () => {
  await runShell('kubectl create configmap media-files && kubectl apply -f examples/kubernetes/mediacluster.yaml', { cwd, env });
  await runShell('kubectl wait --for=condition=Available mcl/media --timeout=120s', { cwd, env });
  const said = new Map<string, string>();
  for (const line of docCommands('docs/how-to/operate-kubernetes.md')) said.set(line, await runShell(line, { cwd, env }));
  const saidTo = (part: RegExp) => [...said].find(([line]) => part.test(line))?.[1] ?? '';
  assert.match(saidTo(/^kubectl get mcl,mroom/), /mediacluster.mediarooms.dev\/media /);
  assert.match(saidTo(/^kubectl get events/), /mediacluster\/media/);
  assert.match(saidTo(/^kubectl get pods/), /^media-0 /m);
  assert.match(saidTo(/data\.admin/), /^\S{20,}$/);
  await stage.waitFor('mediaClusters', 'media', ({ status }) => status.keyGeneration === 1, 60_000);
  const { data } = await stage.get('secrets', 'media-api-tokens');
  assert.deepEqual(Object.keys(data).sort(), ['admin', 'dashboard.read', 'operator']);
  await stage.waitFor('mediaClusters', 'media', ({ status }) => status.replicas === 1, 60_000);
  assert.equal((await stage.get('mediaClusters', 'media')).spec.config.logLevel, 'debug');
});

test('the commands of docs/how-to/upgrade-and-uninstall.md release Rooms that were deleted after their operator', async () => {
  await stage.makeRoom('left');
  await stage.operator.stop();
  await stage.kubectl('delete', 'room', 'left', '--wait=false');
  assert.ok((await stage.get('rooms', 'left')).metadata.deletionTimestamp);
  for (const line of docCommands('docs/how-to/upgrade-and-uninstall.md').filter((each) => each.includes('finalizers')))
    await runShell(line, { cwd, env });
  assert.deepEqual(await stage.list('rooms'), []);
});
