// Chart with `operator.highAvailability`: the leader stops without releasing its Lease, as if its Kubernetes node were lost.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { chartFolder, helmOf, mustRun } from '../kit/kube/helm.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { condition, type KubeJson, readObject, readObjects, room } from '../kit/kube/read-objects.ts';

const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const helm = helmOf(server);

const holder = async (): Promise<string | undefined> => {
  const lease: KubeJson = await readObject(server, 'leases', 'mediarooms-operator', 'default');
  return lease?.spec?.holderIdentity || undefined;
};
/** A Room without a MediaCluster needs an operator, but no node. */
const isObserved = async (name: string) => condition(await readObject(server, 'rooms', name, 'default'), 'Accepted') !== undefined;

test('if the Kubernetes node of the leading operator is lost, the other operator continues', async (t) => {
  const values = ['--set', 'mediaCluster.create=false', '--set', 'operator.highAvailability=true'];
  await mustRun(helm, ['install', 'mediarooms', chartFolder, '--wait', '--timeout', '200s', ...values]);
  const pods = await readObjects(server, 'pods', 'default', { labelSelector: 'app.kubernetes.io/component=operator' });
  assert.equal(pods.length, 2);
  const lost = await eventually('an operator is the leader', holder);
  await server.apply(room('before'));
  await eventually('the leader observes a Room', () => isObserved('before'));

  const pid = runner.pidOf(lost) ?? assert.fail(`no process of ${lost}`);
  process.kill(pid, 'SIGSTOP');
  t.after(() => process.kill(pid, 'SIGKILL'));
  const start = performance.now();
  await server.apply(room('after'));
  await eventually('the other operator observes a new Room', () => isObserved('after'));
  t.diagnostic(`takeover after ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  const names = pods.map(({ metadata }) => metadata.name);
  assert.equal(
    await holder(),
    names.find((name) => name !== lost),
  );
});
