// Exposure: for every exposure packets arrive at the candidate that a browser gets; TURN relays; a Gateway instead of an Ingress.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { securePort } from '../kit/kube/cluster/addons.ts';
import type { KubeJson } from '../kit/kube/read-objects.ts';
import { Conversation } from './conversation.ts';
import { host, Installed, settle } from './installed.ts';

const installed = await Installed.prepare({ after }, { routes: true });
await settle(installed, () => installed.install('operator', ['--set', 'mediaCluster.create=false']));
const ingress = { host, tls: { secretName: 'rooms-tls' } };
const balancer = installed.cluster.nodes[0]?.address.replace(/\d+$/, '100') ?? '';

/** Kinds that the operator creates: the next cluster and its Room reuse the names. */
const kinds =
  'pods,services,endpointslices,configmaps,secrets,serviceaccounts,poddisruptionbudgets,networkpolicies,ingresses,httproutes.gateway.networking.k8s.io,ingressroutetcps.traefik.io';

type Way = { media: object; address: (pod: KubeJson) => string; meanwhile?: () => Promise<void> };

const ways: Record<string, Way> = {
  nodePort: { media: { exposure: 'nodePort' }, address: ({ status }) => status.hostIP },
  hostPort: { media: { exposure: 'hostPort' }, address: ({ status }) => status.hostIP },
  hostNetwork: { media: { exposure: 'hostNetwork' }, address: ({ status }) => status.hostIP },
  podIP: { media: { exposure: 'podIP' }, address: ({ status }) => status.podIP },
  loadBalancer: { media: { exposure: 'loadBalancer' }, address: () => balancer, meanwhile: balance },
};

/** Load balancer: assigns an address to the Service and routes it to the Kubernetes node of its pod. */
async function balance(): Promise<void> {
  const service = await installed.cluster.until('the media Service exists', async () => {
    const { items } = await installed.get('services');
    return items.find(({ spec }: KubeJson) => spec.type === 'LoadBalancer');
  });
  const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: balancer, ipMode: 'VIP' }] } } });
  await installed.kubectl('patch', 'service', service.metadata.name, '--subresource=status', '--type=merge', '-p', status);
  const hostIP = await installed.cluster.until('its pod is scheduled', async () => (await thePod())?.status.hostIP);
  await installed.cluster.hub.ip(`route replace ${balancer}/32 via ${hostIP}`);
}

async function thePod(): Promise<KubeJson> {
  return (await installed.get('pods', '-l', 'mediarooms.dev/cluster')).items[0];
}

/** Pod of the node of a Room. */
async function podOf(room: string): Promise<KubeJson> {
  return installed.get('pod', (await installed.get('room', room)).status.node);
}

type Candidate = { type: string; address: string; port: number; protocol: string; relayProtocol?: string; url?: string };

type Pair = { local: Candidate; remote: Candidate };

/** Selected ICE candidate pairs of a browser. They may begin with TCP until the UDP path has been checked. */
async function chosen({ anna }: Conversation): Promise<Pair[]> {
  const now = () =>
    anna.page.evaluate(async () => {
      const reports = await Promise.all(kit.connections.map((connection) => connection.getStats()));
      return reports.flatMap((report) => {
        const candidate = (id: string) => {
          const { candidateType, address, port, protocol, relayProtocol, url } = report.get(id);
          return { type: candidateType, address, port, protocol, relayProtocol, url };
        };
        return [...report.values()]
          .filter(({ type }) => type === 'transport')
          .map(({ selectedCandidatePairId }) => report.get(selectedCandidatePairId))
          .map(({ localCandidateId, remoteCandidateId }) => ({ local: candidate(localCandidateId), remote: candidate(remoteCandidateId) }));
      });
    });
  return installed.cluster.until('media goes over UDP', async () => {
    const used = await now();
    return used.length > 0 && used.every(({ remote }) => remote.protocol === 'udp') ? used : undefined;
  });
}

/** Runs the work with a MediaCluster. */
async function withCluster(spec: object, work: () => Promise<void>, meanwhile?: () => Promise<void>): Promise<void> {
  const whole = { drain: { timeoutSeconds: 1 }, ...spec };
  try {
    await installed.apply({ apiVersion: 'mediarooms.dev/v1alpha1', kind: 'MediaCluster', metadata: { name: 'c' }, spec: whole });
    await meanwhile?.();
    await installed.settled('c');
    await work();
  } finally {
    await installed.kubectl('delete', 'room,mediacluster', '--all', '--timeout=60s');
    // The garbage collector discovers new kinds every 30 s, later if it could not read all of them. It retries an owner of an unknown kind
    // with exponential backoff.
    const left = () => installed.kubectl('get', kinds, '-l', 'app.kubernetes.io/managed-by=mediarooms-operator', '-o', 'name');
    await installed.cluster.until('all its objects are deleted', async () => (await left()).trim() === '', 200_000);
  }
}

for (const [name, { media, address, meanwhile }] of Object.entries(ways)) {
  test(`${name}: video and audio arrive at the announced address`, async (t) => {
    const meet = async () => {
      const conversation = await Conversation.start(t, installed, 'class');
      const pod = await thePod();
      const ports = pod.spec.containers[0].ports.map((port: KubeJson) => port.containerPort);
      const used = await chosen(conversation);
      for (const { remote } of used) {
        assert.equal(remote.address, address(pod));
        assert.ok(ports.includes(remote.port), `${remote.port} is one of ${ports}`);
      }
    };
    await withCluster({ replicas: 1, media, ingress }, meet, meanwhile);
  });
}

test('TURN: browsers limited to relays get video and audio through the exposed TURN port of their pod', async (t) => {
  await withCluster({ replicas: 2, turn: { enabled: true }, ingress }, async () => {
    const conversation = await Conversation.start(t, installed, 'relayed', { iceTransportPolicy: 'relay' });
    const { spec, status } = await podOf('relayed');
    const port = spec.containers[0].env.find((variable: KubeJson) => variable.name === 'SVC_WEBRTC_TURN_PORT').value;
    const used = await chosen(conversation);
    for (const { local, remote } of used) {
      assert.equal(local.type, 'relay');
      const ways = ['udp', 'tcp'].map((transport) => `turn:${status.hostIP}:${port}?transport=${transport}`);
      assert.ok(ways.includes(String(local.url)), local.url);
      // The relay is in the pod, and relays only to the media address of its node.
      assert.equal(remote.address, status.podIP);
    }
  });
});

/** Of the Kubernetes nodes and pods, programs outside of the cluster reach TCP port 443 only; the control plane reaches kubelets too. */
const only443 = (hosts: readonly string[]) => `table inet only443 {
  chain out {
    type filter hook output priority 0;
    ct state established,related accept
    ip daddr { ${hosts.join(', ')} } tcp dport { 443, 10250 } accept
    ip daddr { ${hosts.join(', ')}, 10.244.0.0/16 } drop
  }
}`;

test('TURN through port 443: browsers whose network lets nothing else through get video and audio of two pods', async (t) => {
  // Traefik sends the addresses of the browsers in PROXY protocol headers.
  const tlsRoutes = { host: `turn.${host}`, proxyProtocol: true, traefik: { entryPoints: ['websecure'] } };
  const turn = { enabled: true, tlsSecretName: 'rooms-tls', tlsRoutes };
  const { hub, nodes } = installed.cluster;
  await withCluster({ replicas: 2, turn, ingress }, async () => {
    await hub.run(['nft', '-f', '-'], { input: only443(nodes.map(({ address }) => address)) });
    try {
      const pods = new Set<string>();
      for (let each = 0; pods.size < 2; each += 1) {
        assert.ok(each < 10, 'rooms are placed on one pod only');
        const room = `behind-${each}`;
        const conversation = await Conversation.start(t, installed, room);
        const { metadata, status } = await podOf(room);
        pods.add(metadata.name);
        for (const { local, remote } of await chosen(conversation)) {
          assert.deepEqual([local.type, local.relayProtocol], ['relay', 'tls']);
          assert.equal(local.url, `turns:${metadata.name}.turn.${host}:443?transport=tcp`);
          assert.equal(remote.address, status.podIP);
        }
      }
    } finally {
      await hub.run(['nft', 'delete', 'table', 'inet', 'only443']);
    }
  });
});

test('Gateway instead of Ingress: routes reach every node, including websockets', async (t) => {
  const listener = { name: 'https', protocol: 'HTTPS', port: securePort, tls: { certificateRefs: [{ name: 'rooms-tls' }] } };
  const spec = { gatewayClassName: 'traefik', listeners: [listener] };
  await installed.apply({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'public' }, spec });
  await withCluster({ replicas: 2, gateway: { parentRefs: [{ name: 'public', sectionName: 'https' }], host } }, async () => {
    assert.deepEqual((await installed.get('ingresses')).items, []);
    await installed.cluster.until('the controller accepted the routes', async () => {
      const { items } = await installed.get('httproutes');
      const conditions = items.flatMap(({ status }: KubeJson) => status?.parents?.flatMap((parent: KubeJson) => parent.conditions) ?? []);
      return conditions.some(({ type, status: is }: KubeJson) => type === 'Accepted' && is === 'True');
    });
    const conversation = await Conversation.start(t, installed, 'class');
    const { status } = await installed.get('room', 'class');
    assert.match(status.address, /^rooms\.test\/n\/\d$/);
    for (const path of ['', '/n/0', '/n/1', status.address.slice(host.length)]) {
      const answer = await installed.rest('c', 'GET', `${path}/room/class`);
      assert.deepEqual([answer.status, answer.body.data.id], [200, 'class'], path);
    }
    assert.equal((await installed.get('mediacluster', 'c')).status.url, `https://${host}`);
    await conversation.assertUndisturbed();
  });
});
