// Secrets of a MediaCluster that its nodes share: certificates, renewed while the nodes run, and the cookie, changed when no node runs.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, test } from 'node:test';
import { type ClusterPod, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { readSecret } from '../kit/kube/read-objects.ts';

const day = 24 * 3_600_000;
/** Offset of the clock of the operator. */
let shift = -370 * day;
const { server } = await startClusterOperator({ after }, { operator: { clock: () => new Date(Date.now() + shift) } });
const drain = { timeoutSeconds: 1 };
const spec = { replicas: 2, drain, distributionTls: 'required' };

const secret = async (user: MediaClusterUser) => (await readSecret(server, 'c-certificates', user.namespace)) ?? {};

const authoritiesIn = (data: Record<string, string>) => (data['ca.crt'] ?? '').split(/(?<=-----END CERTIFICATE-----\n)/);
const isBy = (data: Record<string, string>, authority = '') =>
  new X509Certificate(data['tls.crt'] ?? '').verify(new X509Certificate(authority).publicKey);

async function meet(user: MediaClusterUser, pods: readonly ClusterPod[]): Promise<void> {
  const apis = await Promise.all(pods.map((pod) => user.api(pod)));
  await user.until('both nodes are connected', async () => {
    const counts = await Promise.all(apis.map(async (api) => (await api.get('/health')).body.data?.distribution.nodesInCluster));
    return counts.every((count) => count === pods.length);
  });
}

async function cookieOf(user: MediaClusterUser, secret: string): Promise<string> {
  const { data } = await user.get<{ data: Record<string, string> }>('secrets', secret);
  return Buffer.from(data.cookie ?? '', 'base64').toString();
}

test('nodes connect with certificates of the operator, before and after a renewal of the CA at runtime', async () => {
  const user = await MediaClusterUser.make(server, 'certified', { ...spec, replicas: 0 });
  await user.until('the Secret is created', async () => (await user.names('secrets')).includes('c-certificates'));
  const first = await secret(user);
  assert.deepEqual(Object.keys(first).sort(), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
  // A year later, during which the operator did not run: a new certificate at once, and a second CA to be loaded by the nodes.
  shift = -2 * day;
  await user.until('a second CA is added', async () => authoritiesIn(await secret(user)).length === 2);
  const second = await secret(user);
  const [added, known] = authoritiesIn(second);
  assert.equal(known, first['ca.crt']);
  assert.ok(isBy(second, known) && !isBy(second, added));
  await user.apply(spec);
  const pods = await user.settled('c-0', 'c-1');
  await meet(user, pods);
  const { spec: running } = await user.get<{
    spec: { volumes: { name: string; secret?: unknown }[]; containers: ClusterPod['spec']['containers'] };
  }>('pods', 'c-0');
  const keys = ['ca.crt', 'tls.crt', 'tls.key'];
  assert.deepEqual(running.volumes.find(({ name }) => name === 'dist-tls')?.secret, {
    secretName: 'c-certificates',
    defaultMode: 0o440,
    items: keys.map((key) => ({ key, path: key })),
  });
  const env = Object.fromEntries((running.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
  assert.equal(env.SVC_DIST_TLS, 'required');
  // Renewal: the second CA signs, the first stays trusted, and no pod is recreated.
  shift = 0;
  await user.until('the second CA signs', async () => isBy(await secret(user), added));
  assert.deepEqual(authoritiesIn(await secret(user)), [added, known]);
  await meet(user, pods);
  // A pod that starts with the renewed files connects to a pod that started before.
  await user.kubectl('delete', 'pod', 'c-1', '--wait=false');
  await user.until(
    'the pod is deleted',
    async () => !(await user.livingPods()).some(({ metadata }) => metadata.uid === pods[1]?.metadata.uid),
  );
  await user.until('another pod exists', async () => (await user.livingPods()).length === 2);
  const living = await user.settled(...(await user.livingPods()).map(({ metadata }) => metadata.name));
  assert.equal(living[0]?.metadata.uid, pods[0]?.metadata.uid);
  await meet(user, living);
});

test('a foreign certificate Secret is not changed, and the operator creates one after its deletion', async () => {
  shift = 0;
  const user = await MediaClusterUser.make(server, 'changing', { replicas: 0, drain });
  await user.until('no change is in progress', () => user.rests());
  assert.ok(!(await user.names('secrets')).includes('c-certificates'));
  const stringData = { 'ca.crt': 'of cert-manager', 'tls.crt': 'of cert-manager', 'tls.key': 'of cert-manager' };
  await server.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'changing', name: 'c-certificates' }, stringData });
  await user.apply({ replicas: 0, drain, distributionTls: 'optional' });
  await user.until('no change is in progress', () => user.rests());
  assert.deepEqual(await secret(user), stringData);
  await user.kubectl('delete', 'secret', 'c-certificates');
  await user.until('the operator creates one', async () => (await user.names('secrets')).includes('c-certificates'));
  assert.equal(authoritiesIn(await secret(user)).length, 1);
});

test('a changed cookie is reported, and a new node joins the running one with the cookie of before', async () => {
  const user = await MediaClusterUser.make(server, 'cookies', { replicas: 1, drain });
  const [pod] = await user.settled('c-0');
  const before = await cookieOf(user, 'c-config');
  assert.equal(before, await cookieOf(user, 'c-cookie'));
  assert.ok(!JSON.stringify(pod?.spec.containers[0]?.env).includes('secretKeyRef'), 'a variable with a secret');
  await user.kubectl('patch', 'secret', 'c-cookie', '--type=merge', '-p', '{"stringData":{"cookie":"the-next-cookie"}}');
  await user.until('the change is reported', async () => (await user.condition('Degraded')).reason === 'CookieChanged');
  assert.match((await user.condition('Degraded')).message, /^The cookie in Secret "c-cookie" was changed; it becomes effective when /);
  await user.apply({ replicas: 2, drain });
  await meet(user, await user.settled('c-0', 'c-1'));
  assert.equal(await cookieOf(user, 'c-config'), before);
});

test('after the cluster was scaled to 0 all nodes have the new cookie', async () => {
  const user = new MediaClusterUser(server, 'cookies');
  await user.apply({ replicas: 0, drain });
  await user.until('no pod is left', async () => (await user.pods()).length === 0);
  await user.until('the cookie is effective', async () => (await user.condition('Degraded')).status === 'False');
  assert.equal(await cookieOf(user, 'c-config'), 'the-next-cookie');
  await user.apply({ replicas: 2, drain });
  await meet(user, await user.settled('c-0', 'c-1'));
});
