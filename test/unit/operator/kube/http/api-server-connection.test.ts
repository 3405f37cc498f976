// Credentials for the API server: rotation, plugins, and errors if they are missing.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ApiServerConnection } from '../../../../../operator/kube/http/api-server-connection.ts';
import { KubeError } from '../../../../../operator/kube/http/kube-error.ts';
import { resources } from '../../../../../operator/kube/objects.ts';
import { listen } from '../../../../kit/network/listen.ts';
import { tempFolder } from '../../../../kit/temp-folder.ts';
import { connect, kubeconfigOf, room } from '../fake-api.ts';

type Config = ReturnType<typeof kubeconfigOf>;

async function kubeconfig(t: TestContext, change: (config: Config, folder: string) => object): Promise<{ path: string; folder: string }> {
  const folder = tempFolder(t);
  const path = join(folder, 'kubeconfig');
  await writeFile(path, JSON.stringify(change(kubeconfigOf('https://127.0.0.1:6443/prefix/'), folder)));
  return { path, folder };
}

const noCredentials = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof KubeError && error.reason === 'NoCredentials');
  assert.match(error.message, message);
  return true;
};

describe('An API server connection', () => {
  it('uses address, prefix and token of the current context', async (t) => {
    const { path } = await kubeconfig(t, (config) => config);
    const apiServerConnection = ApiServerConnection.load(path);
    t.after(() => apiServerConnection.close());
    assert.deepEqual([apiServerConnection.origin, apiServerConnection.prefix], ['https://127.0.0.1:6443', '/prefix']);
    assert.equal((await apiServerConnection.access()).headers.Authorization, 'Bearer the-token-of-the-operator');
  });

  it('keeps one dispatcher, until certificates change', async (t) => {
    const { path, folder } = await kubeconfig(t, (config, at) => ({
      ...config,
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority': join(at, 'ca.pem') } }],
    }));
    await writeFile(join(folder, 'ca.pem'), 'one authority');
    const apiServerConnection = ApiServerConnection.load(path, 0);
    t.after(() => apiServerConnection.close());
    const first = await apiServerConnection.access();
    assert.equal((await apiServerConnection.access()).dispatcher, first.dispatcher);
    await writeFile(join(folder, 'ca.pem'), 'another authority');
    assert.notEqual((await apiServerConnection.access()).dispatcher, first.dispatcher);
  });

  it('runs a plugin once for concurrent requests', async (t) => {
    const { path, folder } = await kubeconfig(t, (config, at) => {
      const credential = JSON.stringify({ status: { token: 'of-the-plugin', expirationTimestamp: '2020-01-01T00:00:00Z' } });
      const script = `require('fs').appendFileSync(${JSON.stringify(join(at, 'runs'))}, 'x'); console.log(${JSON.stringify(credential)})`;
      return { ...config, users: [{ name: 'u', user: { exec: { command: process.execPath, args: ['-e', script] } } }] };
    });
    const apiServerConnection = ApiServerConnection.load(path);
    t.after(() => apiServerConnection.close());
    const all = await Promise.all(Array.from({ length: 20 }, () => apiServerConnection.access()));
    assert.equal(all[19]?.headers.Authorization, 'Bearer of-the-plugin');
    assert.equal(await readFile(join(folder, 'runs'), 'utf8'), 'x');
  });

  it('hides the output of a failing plugin, and runs it again', async (t) => {
    const { path } = await kubeconfig(t, (config) => ({
      ...config,
      users: [{ name: 'u', user: { exec: { command: process.execPath, args: ['-e', 'console.error("hunter2"); process.exit(1)'] } } }],
    }));
    const apiServerConnection = ApiServerConnection.load(path);
    t.after(() => apiServerConnection.close());
    for (let i = 0; i < 2; i++)
      await assert.rejects(apiServerConnection.access(), noCredentials(/^Could not load credentials for the API server\.$/));
  });

  it('uses the proxy of the kubeconfig', async (t) => {
    const seen: string[] = [];
    const proxy = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.end(JSON.stringify(room('a', '1')));
    });
    const port = await listen(t, proxy);
    const cluster = { server: 'http://api.example:6443', 'insecure-skip-tls-verify': true, 'proxy-url': `http://127.0.0.1:${port}` };
    const { path } = await kubeconfig(t, (config) => ({ ...config, clusters: [{ name: 'c', cluster }] }));
    const client = await connect(t, { kubeconfig: path });
    assert.equal((await client.get(resources.rooms, { namespace: 'default', name: 'a' }))?.metadata.name, 'a');
    assert.deepEqual(seen, ['GET http://api.example:6443/apis/mediarooms.dev/v1alpha2/namespaces/default/rooms/a']);
  });

  it('reports the missing part of a configuration', async (t) => {
    const { path } = await kubeconfig(t, (config) => ({ ...config, 'current-context': 'nowhere' }));
    assert.throws(() => ApiServerConnection.load(path), noCredentials(/has no current cluster\.$/));
    assert.throws(
      () => ApiServerConnection.load('/nowhere/kubeconfig'),
      noCredentials(/^Could not read kubeconfig \/nowhere\/kubeconfig \(ENOENT\)\.$/),
    );
    assert.throws(() => ApiServerConnection.load(undefined), noCredentials(/this process does not run in a Pod\.$/));
  });
});
