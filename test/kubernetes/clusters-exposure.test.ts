// Exposure: packets arrive at the candidate that a client gets, for every exposure of media.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { basePort, type ClusterPod, LiveRoom, MediaClusterUser, startClusterOperator } from '../kit/kube/media-clusters.ts';
import { sendBytes } from '../kit/network/stun.ts';

const { server, runner } = await startClusterOperator({ after });
const drain = { timeoutSeconds: 1 };
const externalDns = { hostname: '{pod}.media.example' };
const dnsPrefixes = ['external-dns.kubernetes.io', 'external-dns.alpha.kubernetes.io'];

// Host ports are above the ports of other tests, which may listen on all addresses, and below node ports.

/** Sends packets to the candidates of a peer on each pod. @returns their addresses */
async function reach(user: MediaClusterUser, pods: readonly ClusterPod[]): Promise<string[]> {
  const reached: string[] = [];
  for (const [index, pod] of pods.entries()) {
    const room = await LiveRoom.open(user, pod, `reached-${index}`);
    const { data } = await room.socket.request('createTransport', { direction: 'send', sctp: false });
    const { iceCandidates } = data as { iceCandidates: { ip: string; port: number }[] };
    assert.ok(iceCandidates.length > 0);
    for (const { port } of iceCandidates) assert.equal(port, basePort(pod));
    assert.ok((await sendBytes(data, 100)) > 0);
    reached.push(`${iceCandidates[0]?.ip}:${iceCandidates[0]?.port}`);
    await room.leave();
  }
  assert.equal(new Set(reached).size, reached.length);
  return reached;
}

const hostOf = (pod: ClusterPod) => runner.hosts.find(({ name }) => name === pod.spec.nodeName);
const addresses = (reached: readonly string[]) => reached.map((each) => each.split(':')[0]);

test('nodePort announces the external address of the Kubernetes node and the node port on which the container listens', async () => {
  const user = await MediaClusterUser.make(server, 'node-port', { replicas: 3, drain });
  const pods = await user.settled('c-0', 'c-1', 'c-2');
  assert.deepEqual(
    addresses(await reach(user, pods)),
    pods.map((pod) => hostOf(pod)?.externalIP),
  );
});

test('hostPort announces the host address and a separate port for each pod', async () => {
  const media = { exposure: 'hostPort', announcedAddress: 'nodeInternalIP', ports: { from: 29_910, to: 29_939 } };
  const user = await MediaClusterUser.make(server, 'host-port', { replicas: 3, drain, media, externalDns });
  const pods = await user.settled('c-0', 'c-1', 'c-2');
  for (const { metadata, spec } of pods)
    for (const prefix of dnsPrefixes) {
      assert.equal(metadata.annotations[`${prefix}/hostname`], `${metadata.name}.media.example`);
      assert.equal(metadata.annotations[`${prefix}/target`], runner.hosts.find(({ name }) => name === spec.nodeName)?.internalIP);
    }
  assert.deepEqual(
    addresses(await reach(user, pods)),
    pods.map((pod) => hostOf(pod)?.internalIP),
  );
  assert.deepEqual(pods.map(basePort), [29_910, 29_911, 29_912]);
});

test('hostNetwork announces the host address, with one pod per Kubernetes node', async () => {
  const media = { exposure: 'hostNetwork', announcedAddress: 'nodeInternalIP', ports: { from: 29_950, to: 29_979 } };
  const user = await MediaClusterUser.make(server, 'host-network', { replicas: 2, drain, media });
  const pods = await user.settled('c-0', 'c-1');
  assert.deepEqual(
    pods.map(({ status }) => status.podIP),
    pods.map((pod) => hostOf(pod)?.internalIP),
  );
  await reach(user, pods);
});

test('podIP announces the address of the pod, with the same ports for all pods', async () => {
  const user = await MediaClusterUser.make(server, 'pod-ip', { replicas: 2, drain, media: { exposure: 'podIP' } });
  const pods = await user.settled('c-0', 'c-1');
  assert.deepEqual(
    await reach(user, pods),
    pods.map(({ status }) => `${status.podIP}:50000`),
  );
});

test('loadBalancer announces the address of the load balancer', async () => {
  const user = await MediaClusterUser.make(server, 'balancer', { replicas: 2, drain, media: { exposure: 'loadBalancer' }, externalDns });
  const pods = await user.settled('c-0', 'c-1');
  type Balanced = { metadata: { annotations: Record<string, string> }; status: { loadBalancer: { ingress: { ip: string }[] } } };
  const balancers = await Promise.all(pods.map(({ metadata: { name } }) => user.get<Balanced>('services', `${name}-media`)));
  assert.deepEqual(
    addresses(await reach(user, pods)),
    balancers.map(({ status }) => status.loadBalancer.ingress[0]?.ip),
  );
  for (const prefix of dnsPrefixes)
    assert.deepEqual(
      balancers.map(({ metadata }) => metadata.annotations[`${prefix}/hostname`]),
      ['c-0.media.example', 'c-1.media.example'],
    );
  assert.deepEqual(
    pods.map(({ metadata }) => metadata.annotations[`${dnsPrefixes[0]}/hostname`]),
    [undefined, undefined],
  );
  await user.apply({ replicas: 2, drain, media: { exposure: 'loadBalancer' } });
  await user.until('the names are removed without a rollout', async () => {
    const { metadata } = await user.get<Partial<Balanced> & { metadata: { annotations?: object } }>('services', 'c-0-media');
    return metadata.annotations === undefined;
  });
  assert.deepEqual(
    (await user.settled('c-0', 'c-1')).map(({ metadata }) => metadata.uid),
    pods.map(({ metadata }) => metadata.uid),
  );
});

test('a change of the load balancer class causes a rollout, because a Service keeps its class', async () => {
  const media = (className: string) => ({ exposure: 'loadBalancer', loadBalancer: { className } });
  const user = await MediaClusterUser.make(server, 'classes', { replicas: 1, drain, media: media('example.com/old') });
  await user.settled('c-0');
  await user.apply({ replicas: 1, drain, media: media('example.com/new') });
  const [pod] = await user.settled('c-1');
  const service = await user.get<{ spec: { loadBalancerClass: string } }>('services', `${pod?.metadata.name}-media`);
  assert.equal(service.spec.loadBalancerClass, 'example.com/new');
  await user.until('the cluster is not Degraded', async () => (await user.condition('Degraded')).status === 'False');
});

test('literal addresses are announced verbatim', async () => {
  const host = runner.hosts[0]?.externalIP ?? '';
  const media = { announcedAddress: `${host} 192.0.2.7` };
  const user = await MediaClusterUser.make(server, 'literal', { replicas: 1, drain, media });
  const [pod] = await user.settled('c-0');
  assert.equal(pod?.metadata.annotations['mediarooms.dev/media-address'], `${host} 192.0.2.7`);
});

test('a change of the exposure causes a rollout, and old pods keep their Services until they are removed', async () => {
  const spec = { replicas: 1, drain: { timeoutSeconds: 600 } };
  const user = await MediaClusterUser.make(server, 'moved', spec);
  const [old] = await user.settled('c-0');
  assert.ok(old);
  const room = await LiveRoom.open(user, old, 'alive');
  await user.apply({ ...spec, media: { exposure: 'podIP' } });
  await user.until('the old pod drains', async () => (await user.cluster()).status?.nodes?.[0]?.state === 'Draining');
  assert.ok((await user.names('services')).includes('c-0-media'));
  const { data } = await room.socket.request('createTransport', { direction: 'send', sctp: false });
  assert.ok((await sendBytes(data, 100)) > 0);
  await room.leave();
  await user.settled('c-1');
  await user.until('its Services are deleted', async () => (await user.names('services')).join() === 'c,c-1,c-nodes');
});

test('Services have the given annotations for HTTP and address families, and nodes listen on both families', async () => {
  const annotations = { 'cloud.google.com/backend-config': '{"default":"media"}' };
  const services = { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'], annotations };
  const user = await MediaClusterUser.make(server, 'dual', { replicas: 1, drain, services });
  const [pod] = await user.settled('c-0');
  type Service = { metadata: { name: string; annotations?: object }; spec: { ipFamilies: string[] } };
  const all = await user.list<Service>('services');
  const withAnnotations = all.filter(({ metadata }) => metadata.annotations !== undefined);
  assert.deepEqual(
    withAnnotations.map(({ metadata }) => [metadata.name, metadata.annotations]),
    ['c', 'c-0'].map((name) => [name, annotations]),
  );
  const found = all.map(({ metadata, spec }) => [metadata.name, spec.ipFamilies.join()]);
  assert.deepEqual(Object.fromEntries(found), { c: 'IPv6,IPv4', 'c-0': 'IPv6,IPv4', 'c-0-media': 'IPv6,IPv4', 'c-nodes': 'IPv4' });
  assert.equal(pod?.spec.containers[0]?.env.find(({ name }) => name === 'SVC_IP')?.value, '::');
});
