// Cookie of a MediaCluster: a file, and a changed one never splits the cluster, because it waits until no pod exists.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';

const { server } = await startClusterOperator({ after });
const drain = { timeoutSeconds: 2 };
const user = await MediaClusterUser.make(server, 'cookies', { replicas: 1, drain });

async function cookieOf(secret: string): Promise<string> {
  const { data } = await user.get<{ data: Record<string, string> }>('secrets', secret);
  return Buffer.from(data.cookie ?? '', 'base64').toString();
}

async function connected(nodes: number): Promise<void> {
  for (const pod of await user.livingPods()) {
    const api = await user.api(pod);
    const health = async () => (await api.get('/health')).body.data?.distribution.nodesInCluster;
    await user.until(`${pod.metadata.name} is connected to ${nodes - 1} others`, async () => (await health()) === nodes);
  }
}

test('a changed cookie is reported, and a new node joins the running one with the cookie of before', async () => {
  const [pod] = await user.settled('c-0');
  const before = await cookieOf('c-config');
  assert.equal(before, await cookieOf('c-cookie'));
  assert.ok(!JSON.stringify(pod?.spec.containers[0]?.env).includes('secretKeyRef'), 'a variable with a secret');
  await user.kubectl('patch', 'secret', 'c-cookie', '--type=merge', '-p', '{"stringData":{"cookie":"the-next-cookie"}}');
  await user.until('the change is reported', async () => (await user.condition('Degraded')).reason === 'CookieChanged');
  assert.match((await user.condition('Degraded')).message, /^The cookie in Secret "c-cookie" was changed; it becomes effective when /);
  await user.apply({ replicas: 2, drain });
  await user.settled('c-0', 'c-1');
  await connected(2);
  assert.equal(await cookieOf('c-config'), before);
});

test('after the cluster was scaled to 0 all nodes have the new cookie', async () => {
  await user.apply({ replicas: 0, drain });
  await user.until('no pod is left', async () => (await user.pods()).length === 0);
  await user.until('the cookie is effective', async () => (await user.condition('Degraded')).status === 'False');
  assert.equal(await cookieOf('c-config'), 'the-next-cookie');
  await user.apply({ replicas: 2, drain });
  await user.settled('c-0', 'c-1');
  await connected(2);
});
