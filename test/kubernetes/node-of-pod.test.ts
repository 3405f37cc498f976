// A real media node with the environment and files of its pod: it starts, accepts all of them and logs no warning.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { variables } from '../../api/settings/variables.ts';
import { type ConfigFiles, configFiles } from '../../operator/clusters/config-files.ts';
import { paths } from '../../operator/clusters/names.ts';
import type { StoredCluster } from '../../operator/clusters/owned.ts';
import { pod } from '../../operator/clusters/pods/pod.ts';
import { eventually } from '../kit/eventually.ts';
import { richSpec, testCluster, testFacts, testSecrets } from '../kit/fakes/media-cluster.ts';
import { containerEnvironment } from '../kit/kube/pods/pod-env.ts';
import type { Pod } from '../kit/kube/pods/pod-spec.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';

const token = 'token-of-the-operator';
const image = Object.fromEntries(
  variables.flatMap((variable) => (variable.image === undefined ? [] : [[`SVC_${variable.env}`, variable.image]])),
);

type Started = { node: NodeProcess; get: (path: string) => Promise<Response>; announce: (text: string) => void; files: ConfigFiles };

/** Starts the node of index 0 on a separate loopback address, with the ports of its pod. */
async function startNodeOf(t: TestContext, cluster: StoredCluster): Promise<Started> {
  const podIP = `127.${230 + (process.pid % 20)}.${Math.floor(Math.random() * 250)}.1`;
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-pod-'));
  // The node may still write, because it ends later.
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const files = configFiles(cluster, testFacts());
  assert.ok('config' in files, JSON.stringify(files));
  for (const { path, text } of [files.config, files.secrets]) put(path, text);
  put(paths.cookie, files.cookie);
  put(paths.address, '');
  const made = pod(cluster, testFacts(), { index: 0, basePort: 50_000 }) as unknown as Pod;
  const [container] = made.spec.containers;
  assert.ok(container);
  const secrets = new Map(
    Object.entries(testSecrets).map(([name, data]) => [
      name,
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value)])),
    ]),
  );
  const env = containerEnvironment(container, made, { podIP, hostIP: '192.0.2.1' }, { configMaps: new Map(), secrets }, {});
  const whole = Object.entries({ ...image, ...env }).map(([name, value]) => {
    if (value === '0.0.0.0') return [name, podIP];
    return [name, value.replaceAll(/\/(etc|var)\/[a-z/]*mediarooms/g, (path) => join(folder, path))];
  });
  const node = await startNodeProcess(t, Object.fromEntries(whole), { bare: true });
  const get = (path: string) =>
    fetch(`http://${podIP}:8080${path}`, { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(30_000) });
  return { node, get, announce: (text) => put(paths.address, text), files };
}

type Health = { config: { files: { name: string; sha256: string }[]; shadowed: string[]; error: string | null } };

/** Log lines of the node above `info`, except about the headless Service, which does not exist here. */
function complaints(node: NodeProcess): string[] {
  return node
    .output()
    .split('\n')
    .filter((line) => /"level":"(warn|error|fatal)"/.test(line) && !line.includes('DNS query failed'));
}

for (const [form, spec] of [
  ['small', {}],
  ['rich', { ...richSpec, workersPerNode: 1 }],
] as const) {
  test(`the node of a ${form} cluster starts with environment and files of its pod, and is ready once its address is written`, async (t) => {
    const cluster = testCluster(spec);
    const { node, get, announce, files } = await startNodeOf(t, cluster);
    const { data: health } = (await (await get('/health')).json()) as { data: Health };
    assert.deepEqual(health.config.shadowed, []);
    assert.equal(health.config.error, null);
    assert.deepEqual(
      health.config.files.map(({ sha256 }) => sha256),
      [files.config.sha256, files.secrets.sha256],
    );
    assert.deepEqual(complaints(node), []);
    assert.equal((await get('/livez')).status, 200);
    assert.equal((await get('/readyz')).status, 503);
    announce('192.0.2.7');
    await eventually('it is ready', async () => (await get('/readyz')).status === 200);
    for (const secret of ['token-of', 'token-that', 'cookie-of', 'secret-key-of', 'password of', 'cccccc', 'whsec_'])
      assert.ok(!node.output().includes(secret), secret);
  });
}
