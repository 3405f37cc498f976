// Every way in which clients reach a node: the candidate that a browser gets is where its packets arrive; relays; a Gateway in place of Ingress.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { securePort } from '../kit/kube/cluster/addons.ts';
import { Conversation } from './conversation.ts';
import { type Anything, host, Installed } from './installed.ts';

const stage = await Installed.prepare({ after }, { gateway: true });
await stage.settle(() => stage.install('operator', ['--set', 'mediaCluster.create=false']));
const ingress = { host, tls: { secretName: 'rooms-tls' } };
const balancer = stage.cluster.nodes[0]?.address.replace(/\d+$/, '100') ?? '';

/** Of what the operator makes: the next cluster has the same name, and so has its Room. */
const kinds =
  'pods,services,endpointslices,configmaps,secrets,serviceaccounts,poddisruptionbudgets,networkpolicies,ingresses,httproutes.gateway.networking.k8s.io';

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

/** The pod of the node that a Room is on. */
async function podOf(room: string): Promise<Anything> {
  return stage.get('pod', (await stage.get('room', room)).status.node);
}

type Candidate = { type: string; address: string; port: number; protocol: string; url?: string };

/** Where the browser's media goes: both ends of the pairs that ICE has settled on. Over TCP it may begin, until the better way is tried, too. */
async function chosen({ anna }: Conversation): Promise<{ local: Candidate; remote: Candidate }[]> {
  const now = () =>
    anna.page.evaluate(async () => {
      const reports = await Promise.all(kit.connections.map((connection) => connection.getStats()));
      return reports.flatMap((report) => {
        const candidate = (id: string) => {
          const { candidateType, address, port, protocol, url } = report.get(id);
          return { type: candidateType, address, port, protocol, url };
        };
        return [...report.values()]
          .filter(({ type }) => type === 'transport')
          .map(({ selectedCandidatePairId }) => report.get(selectedCandidatePairId))
          .map(({ localCandidateId, remoteCandidateId }) => ({ local: candidate(localCandidateId), remote: candidate(remoteCandidateId) }));
      });
    });
  return stage.until('media goes over UDP', async () => {
    const used = await now();
    return used.length > 0 && used.every(({ remote }) => remote.protocol === 'udp') ? used : undefined;
  });
}

/** A MediaCluster for as long as the work takes. */
async function withCluster(spec: object, work: () => Promise<void>, meanwhile?: () => Promise<void>): Promise<void> {
  const whole = { drain: { timeoutSeconds: 1 }, ...spec };
  try {
    await stage.apply({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name: 'c' }, spec: whole });
    await meanwhile?.();
    await stage.settled('c');
    await work();
  } finally {
    await stage.kubectl('delete', 'room,mediacluster', '--all', '--timeout=60s');
    // The garbage collector looks for new kinds every 30 s, and again so much later where it could not read them all; an owner of a kind that it
    // did not know it looks at again after twice as long each time.
    const left = () => stage.kubectl('get', kinds, '-l', 'app.kubernetes.io/managed-by=mediarooms-operator', '-o', 'name');
    await stage.until('nothing of it is left', async () => (await left()).trim() === '', 200_000);
  }
}

for (const [name, { media, address, meanwhile }] of Object.entries(ways)) {
  test(`${name}: pictures and sound arrive at the address that the browsers were given`, async (t) => {
    const meet = async () => {
      const conversation = await Conversation.start(t, stage, 'class');
      const pod = await thePod();
      const ports = pod.spec.containers[0].ports.map((port: Anything) => port.containerPort);
      const used = await chosen(conversation);
      for (const { remote } of used) {
        assert.equal(remote.address, address(pod));
        assert.ok(ports.includes(remote.port), `${remote.port} is one of ${ports}`);
      }
    };
    await withCluster({ replicas: 1, media, ingress }, meet, meanwhile);
  });
}

test('TURN: browsers that may use relays only have pictures and sound through the exposed port of TURN of their pod', async (t) => {
  await withCluster({ replicas: 2, turn: { enabled: true }, ingress }, async () => {
    const conversation = await Conversation.start(t, stage, 'relayed', { iceTransportPolicy: 'relay' });
    const { spec, status } = await podOf('relayed');
    const port = spec.containers[0].env.find((variable: Anything) => variable.name === 'SVC_WEBRTC_TURN_PORT').value;
    const used = await chosen(conversation);
    for (const { local, remote } of used) {
      assert.equal(local.type, 'relay');
      const ways = ['udp', 'tcp'].map((transport) => `turn:${status.hostIP}:${port}?transport=${transport}`);
      assert.ok(ways.includes(String(local.url)), local.url);
      // The relay is in the pod, and sends to the media of its own node only.
      assert.equal(remote.address, status.podIP);
    }
  });
});

test('a Gateway in place of Ingress: its routes lead to every node, sockets included', async (t) => {
  const listener = { name: 'https', protocol: 'HTTPS', port: securePort, tls: { certificateRefs: [{ name: 'rooms-tls' }] } };
  const spec = { gatewayClassName: 'traefik', listeners: [listener] };
  await stage.apply({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'public' }, spec });
  await withCluster({ replicas: 2, gateway: { parentRefs: [{ name: 'public', sectionName: 'https' }], host } }, async () => {
    assert.deepEqual((await stage.get('ingresses')).items, []);
    await stage.until('its controller took the routes', async () => {
      const { items } = await stage.get('httproutes');
      const conditions = items.flatMap(({ status }: Anything) => status?.parents?.flatMap((parent: Anything) => parent.conditions) ?? []);
      return conditions.some(({ type, status: is }: Anything) => type === 'Accepted' && is === 'True');
    });
    const conversation = await Conversation.start(t, stage, 'class');
    const { status } = await stage.get('room', 'class');
    assert.match(status.address, /^rooms\.test\/n\/\d$/);
    for (const path of ['', '/n/0', '/n/1', status.address.slice(host.length)]) {
      const answer = await stage.rest('c', 'GET', `${path}/room/class`);
      assert.deepEqual([answer.status, answer.body.data.id], [200, 'class'], path);
    }
    assert.equal((await stage.get('mediacluster', 'c')).status.url, `https://${host}`);
    await conversation.assertUndisturbed();
  });
});
