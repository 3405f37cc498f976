// NetworkPolicy compared with the traffic table: every port of a pod and its allowed sources.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkPolicy } from '../../../../../operator/clusters/manifests.ts';
import { podSelector } from '../../../../../operator/clusters/names.ts';
import { networkPolicy } from '../../../../../operator/clusters/network/network-policy.ts';
import { networkRules, type TrafficSource } from '../../../../../operator/clusters/network/network-rules.ts';
import { type Exposure, fixedPortBlock, mediaPortsOf } from '../../../../../operator/clusters/network/ports.ts';
import { pod } from '../../../../../operator/clusters/pods/pod.ts';
import { richSpec, testCluster, testFacts } from '../../../../kit/fakes/media-cluster.ts';

type Who = { outside?: true; labels?: Record<string, string>; namespace?: string };
const outside: Who = { outside: true };
const node: Who = { labels: podSelector('media'), namespace: 'calls' };
const neighbour: Who = { labels: {}, namespace: 'calls' };
const strange: Who = { labels: podSelector('media'), namespace: 'elsewhere' };
const prometheus: Who = { labels: {}, namespace: 'monitoring' };

type Peer = { namespaceSelector?: { matchLabels?: Record<string, string> }; podSelector?: { matchLabels?: Record<string, string> } };

/** Evaluates a policy like Kubernetes (networking.k8s.io/v1), limited to the used fields. */
function allows(policy: NetworkPolicy | undefined, who: Who, protocol: string, port: number): boolean {
  assert.ok(policy);
  return policy.spec.ingress.some(({ from, ports }) => {
    const portFits = ports.some((each) => each.protocol === protocol && port >= each.port && port <= (each.endPort ?? each.port));
    return portFits && (from === undefined || (from as Peer[]).some((peer) => matches(peer, who)));
  });
}

function matches({ namespaceSelector, podSelector: pods }: Peer, who: Who): boolean {
  if (who.outside) return false;
  const namespace = { 'kubernetes.io/metadata.name': who.namespace ?? '' };
  const inNamespace = namespaceSelector ? covers(namespaceSelector.matchLabels, namespace) : who.namespace === 'calls';
  return inNamespace && covers(pods?.matchLabels, who.labels ?? {});
}

const covers = (wanted: Record<string, string> = {}, labels: Record<string, string>): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

const exposures: readonly Exposure[] = ['nodePort', 'loadBalancer', 'hostPort', 'hostNetwork', 'podIP'];
const senders: Record<TrafficSource, Who[]> = {
  anyone: [outside, node, neighbour, strange, prometheus],
  cluster: [node, neighbour, strange, prometheus],
  nodes: [node],
  monitoring: [prometheus],
};
const everybody = senders.anyone;

for (const exposure of exposures)
  test(`with ${exposure} each port is open to the sources of the table only`, () => {
    const cluster = testCluster({ ...richSpec, media: { exposure } });
    const policy = networkPolicy(cluster, testFacts());
    assert.deepEqual(policy?.spec.podSelector.matchLabels, podSelector('media'));
    for (const { name, protocols, ports, from } of networkRules(cluster.spec, testFacts()))
      for (const port of [ports.from, ports.to])
        for (const protocol of protocols)
          for (const who of everybody)
            assert.equal(allows(policy, who, protocol, port), senders[from].includes(who), `${name} ${port} ${JSON.stringify(who)}`);
    for (const port of [22, 8081, 49_999, 60_000]) for (const who of everybody) assert.equal(allows(policy, who, 'TCP', port), false);
  });

for (const exposure of exposures)
  test(`with ${exposure} every port of a pod is in the table`, () => {
    const cluster = testCluster({ ...richSpec, media: { exposure } });
    const basePort = exposure === 'nodePort' ? 30_500 : fixedPortBlock(cluster.spec, cluster.spec.maxReplicas);
    assert.ok(basePort);
    const rows = networkRules(cluster.spec, testFacts());
    for (const { containerPort, protocol } of pod(cluster, testFacts(), { index: 3, basePort }).spec.containers[0].ports)
      assert.ok(
        rows.some(
          ({ ports, protocols }) => containerPort >= ports.from && containerPort <= ports.to && protocols.some((each) => each === protocol),
        ),
        `${protocol} ${containerPort}`,
      );
  });

test('distribution ports are open to nodes of the same cluster only', () => {
  const policy = networkPolicy(testCluster(), testFacts());
  const other: Who = { labels: podSelector('other'), namespace: 'calls' };
  for (const port of [4369, 9000]) {
    assert.equal(allows(policy, node, 'TCP', port), true);
    for (const who of [outside, neighbour, strange, other]) assert.equal(allows(policy, who, 'TCP', port), false);
  }
});

test('HTTP is open to all sources only if clients use the address of the pod', () => {
  const httpFrom = (spec: object) => networkRules(testCluster(spec).spec, {}).find(({ name }) => name === 'http')?.from;
  assert.equal(httpFrom({}), 'cluster');
  assert.equal(httpFrom({ media: { exposure: 'podIP' } }), 'anyone');
  assert.equal(httpFrom({ media: { exposure: 'hostNetwork' } }), 'anyone');
  assert.equal(httpFrom({ media: { exposure: 'podIP' }, ingress: { host: 'a.example' } }), 'cluster');
});

test('HTTP is also open to configured sources, and stays open to the Kubernetes cluster', () => {
  const httpFrom = [{ ipBlock: { cidr: '35.191.0.0/16' } }];
  const policy = networkPolicy(testCluster({ networkPolicy: { httpFrom } }), testFacts());
  const http = policy?.spec.ingress.find(({ ports }) => ports[0]?.port === 8080);
  assert.deepEqual(http?.from, [{ namespaceSelector: {} }, ...httpFrom]);
  const others = policy?.spec.ingress.filter((rule) => rule !== http);
  assert.doesNotMatch(JSON.stringify(others), /ipBlock/);
});

test('metrics are open to the whole Kubernetes cluster if no source is configured or the list is empty', () => {
  for (const spec of [{}, { networkPolicy: { monitoringFrom: [] } }]) {
    const policy = networkPolicy(testCluster(spec), testFacts());
    assert.equal(allows(policy, neighbour, 'TCP', 9568), true);
    assert.equal(allows(policy, outside, 'TCP', 9568), false);
  }
});

test('SIP ports are open over UDP only and with SIP only, and default SIP ports of a node are closed', () => {
  const open = (spec: object, protocol: string, ports: readonly number[]) => {
    const policy = networkPolicy(testCluster(spec), testFacts());
    return ports.filter((port) => allows(policy, outside, protocol, port));
  };
  const sip = { components: 2, calls: 4 };
  for (const exposure of ['podIP', 'loadBalancer']) {
    const media = { exposure };
    const ports = [50_000, 50_001, 50_002, 50_003, 50_006, 50_007];
    assert.deepEqual(open({ media }, 'UDP', ports), [50_000]);
    assert.deepEqual(open({ media, sip }, 'UDP', ports), ports.slice(0, -1));
    assert.deepEqual(open({ media, sip }, 'TCP', ports), [50_000]);
  }
  // Port blocks of hosts are adjacent.
  const onHosts = { media: { exposure: 'hostPort' }, sip, maxReplicas: 1 };
  assert.deepEqual(open(onHosts, 'UDP', [50_000, 50_007, 50_013, 50_014]), [50_000, 50_007, 50_013]);
  for (const protocol of ['UDP', 'TCP']) assert.deepEqual(open({ sip, config: { componentsUsed: ['sip'] } }, protocol, [5060]), []);
});

test('media ports of pods of an older spec stay open until the pods are deleted', () => {
  const cluster = testCluster({ media: { exposure: 'podIP' } });
  const older = pod(testCluster({ workersPerNode: 2 }), testFacts(), { index: 0, basePort: 30_500 });
  const livePorts = [mediaPortsOf(older) ?? assert.fail('no ports')];
  const open = (port: number) => allows(networkPolicy(cluster, testFacts({ livePorts })), outside, 'UDP', port);
  assert.deepEqual([30_499, 30_500, 30_501, 30_502, 50_000].map(open), [false, true, true, false, true]);
  assert.equal(allows(networkPolicy(cluster, testFacts()), outside, 'UDP', 30_500), false);
});

test('a pod with ports inside the range does not change the policy', () => {
  const cluster = testCluster();
  const livePorts = [{ from: 30_500, to: 30_501 }];
  assert.deepEqual(networkPolicy(cluster, testFacts({ livePorts })), networkPolicy(cluster, testFacts()));
});

test('no policy is created if disabled', () => {
  assert.equal(networkPolicy(testCluster({ networkPolicy: { enabled: false } }), testFacts()), undefined);
});
