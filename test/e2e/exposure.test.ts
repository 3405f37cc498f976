// Every way in which media reaches a node: the candidate that a browser gets is where its packets arrive.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { Conversation, people } from './conversation.ts';
import { type Anything, host, Installed } from './installed.ts';
import { timing } from './timings.ts';

const stage = await Installed.prepare({ after });
await stage.install('operator', ['--set', 'mediaCluster.create=false']);
const balancer = stage.cluster.nodes[0]?.address.replace(/\d+$/, '100') ?? '';

type Way = { media: object; address: (pod: Anything) => string; meanwhile?: () => Promise<void> };

const ways: Record<string, Way> = {
  nodePort: { media: { exposure: 'nodePort' }, address: ({ status }) => status.hostIP },
  hostPort: { media: { exposure: 'hostPort' }, address: ({ status }) => status.hostIP },
  hostNetwork: { media: { exposure: 'hostNetwork' }, address: ({ status }) => status.hostIP },
  podIP: { media: { exposure: 'podIP' }, address: ({ status }) => status.podIP },
  loadBalancer: { media: { exposure: 'loadBalancer' }, address: () => balancer, meanwhile: balance },
};

/** As a cloud does: an address for the Service, which leads to the host of its pod. */
async function balance(): Promise<void> {
  const service = await stage.until('there is a Service of media', async () => {
    const { items } = await stage.get('services');
    return items.find(({ spec }: Anything) => spec.type === 'LoadBalancer');
  });
  const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: balancer, ipMode: 'VIP' }] } } });
  await stage.kubectl('patch', 'service', service.metadata.name, '--subresource=status', '--type=merge', '-p', status);
  const hostIP = await stage.until('its pod has a host', async () => (await thePod())?.status.hostIP);
  await stage.cluster.hub.ip(`route replace ${balancer}/32 via ${hostIP}`);
}

async function thePod(): Promise<Anything> {
  return (await stage.get('pods', '-l', 'mediarooms.dev/cluster')).items[0];
}

/** Where the browser sends its media: the pair that ICE chose. */
async function chosen({ anna }: Conversation): Promise<{ address: string; port: number; protocol: string }[]> {
  return anna.page.evaluate(async () => {
    const reports = await Promise.all(kit.connections.map((connection) => connection.getStats()));
    return reports.flatMap((report) =>
      [...report.values()]
        .filter(({ type, nominated, state }) => type === 'candidate-pair' && nominated && state === 'succeeded')
        .map(({ remoteCandidateId }) => report.get(remoteCandidateId))
        .map(({ address, port, protocol }) => ({ address, port, protocol })),
    );
  });
}

async function meet(t: TestContext, name: string, { media, address, meanwhile }: Way): Promise<void> {
  const spec = { replicas: 1, media, ingress: { host, tls: { secretName: 'rooms-tls' } }, drain: { timeoutSeconds: 1 } };
  await stage.apply({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name: 'c' }, spec });
  await meanwhile?.();
  await timing(`${name}: MediaCluster applied to Available`, () => stage.available('c'));
  await stage.room('class', people);
  const conversation = await Conversation.begin(stage, await stage.browser(t), 'class');
  const pod = await thePod();
  const ports = pod.spec.containers[0].ports.map((port: Anything) => port.containerPort);
  const used = await chosen(conversation);
  assert.ok(used.length > 0);
  for (const each of used) {
    assert.equal(each.address, address(pod));
    assert.ok(ports.includes(each.port), `${each.port} is one of ${ports}`);
    assert.equal(each.protocol, 'udp');
  }
}

for (const [name, way] of Object.entries(ways)) {
  test(`${name}: pictures and sound arrive at the address that the browsers were given`, async (t) => {
    try {
      await meet(t, name, way);
    } finally {
      await stage.kubectl('delete', 'room,mediacluster', '--all', '--timeout=60s');
      await stage.until('nothing of it is left', async () => (await thePod()) === undefined);
    }
  });
}
