// The test kit: pods run as a kubelet would run them, and nothing outlives a test. Everything else of it is proven by the tests that use it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { isReady, type Pod } from '../kit/kube/pods/pod-spec.ts';
import { childrenOf } from '../kit/processes/node-process.ts';

const server = await startControlPlane({ after });
const runner = await startPodRunner(server);

/** A pod whose process ends with code 0 on SIGTERM. */
function pod(name: string, container: object = {}): object {
  const command = ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.1; done'];
  const spec = { terminationGracePeriodSeconds: 30, containers: [{ name: 'main', image: 'none', command, ...container }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}

const statusOf = ({ status }: Pod) => status?.containerStatuses?.[0];

test('no process of an API server outlives its killed test process', async () => {
  const kit = join(import.meta.dirname, '../kit/kube/api-server.ts');
  const script = `import { startApiServer } from ${JSON.stringify(kit)};
    console.log((await startApiServer({ after: () => {} })).dir);
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [dir] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const pids = await childrenOf(child.pid ?? 0);
  assert.equal(pids.length, 2);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  await eventually('its processes have ended', () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  await startApiServer({ after });
  // An API server of another file may have begun the removal.
  await eventually('the next API server deletes its folder', () => !existsSync(dir));
});

test('a deleted pod receives SIGTERM and its object is deleted after its end', async () => {
  await server.apply(pod('ending'));
  await runner.waitForPod('ending');
  await server.kubectl(['patch', 'pod', 'ending', '--type=merge', '-p', '{"metadata":{"finalizers":["test/hold"]}}']);
  const pid = runner.pidOf('ending');
  await server.kubectl(['delete', 'pod', 'ending', '--wait=false']);
  const ended = await runner.waitForPod('ending', (each) => statusOf(each)?.state?.terminated !== undefined);
  const { exitCode, reason } = statusOf(ended)?.state?.terminated ?? {};
  assert.deepEqual({ exitCode, reason }, { exitCode: 0, reason: 'Completed' });
  assert.equal(existsSync(`/proc/${pid}`), false);
  await server.kubectl(['patch', 'pod', 'ending', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
  await eventually('the object is deleted', async () => (await server.kubectl(['get', 'pod', 'ending'])).code === 1);
});

test('a killed process is restarted in the same pod, also during an API server outage, and its status is written afterwards', async () => {
  await server.apply(pod('killed'));
  await runner.waitForPod('killed');
  for (const restarts of [1, 2]) {
    const pid = runner.pidOf('killed');
    if (restarts === 2) await server.stopApiServer();
    runner.killPod('killed');
    await eventually('it has ended', () => runner.pidOf('killed') !== pid);
    if (restarts === 2) await server.startApiServer();
    const restarted = await runner.waitForPod('killed', (each) => statusOf(each)?.restartCount === restarts && isReady(each));
    assert.notEqual(runner.pidOf('killed'), pid);
    assert.equal(statusOf(restarted)?.lastState?.terminated?.exitCode, 137);
  }
});

test('a pod reports a missing Secret and starts when it exists', async () => {
  await server.apply(pod('late', { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'late', key: 'token' } } }] }));
  const waiting = await runner.waitForPod('late', (each) => statusOf(each)?.state?.waiting?.reason === 'CreateContainerConfigError');
  assert.equal(statusOf(waiting)?.state?.waiting?.message, 'secret "late" not found');
  await server.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'late', namespace: 'default' },
    stringData: { token: 'token' },
  });
  await runner.waitForPod('late');
});
