// Commands of the Kubernetes how-to pages, run verbatim on real nodes.
import assert from 'node:assert/strict';
import { delimiter, dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { kubernetesPrograms } from '../kit/kube/binaries.ts';
import { startOperatorFixture } from '../kit/kube/cluster-fixture.ts';
import { docCommands, runShell } from '../kit/processes/doc-commands.ts';

const fixture = await startOperatorFixture({ after });
const { server } = fixture;
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
  await fixture.waitFor('mediaClusters', 'media', ({ status }) => status.keyGeneration === 1, 60_000);
  const { data } = await fixture.get('secrets', 'media-api-tokens');
  assert.deepEqual(Object.keys(data).sort(), ['admin', 'dashboard.read', 'operator']);
  await fixture.waitFor('mediaClusters', 'media', ({ status }) => status.replicas === 1, 60_000);
  assert.equal((await fixture.get('mediaClusters', 'media')).spec.config.logLevel, 'debug');
});

test('the commands of docs/how-to/upgrade-and-uninstall.md release Rooms that were deleted after their operator', async () => {
  await fixture.makeRoom('left');
  await fixture.operator.stop();
  await fixture.kubectl('delete', 'room', 'left', '--wait=false');
  assert.ok((await fixture.get('rooms', 'left')).metadata.deletionTimestamp);
  for (const line of docCommands('docs/how-to/upgrade-and-uninstall.md').filter((each) => each.includes('finalizers')))
    await runShell(line, { cwd, env });
  assert.deepEqual(await fixture.list('rooms'), []);
});
