// Services and Ingress of a MediaCluster: ports, selectors and public addresses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ingress, nodeHost, publicUrl } from '../../../../../operator/clusters/network/ingress.ts';
import {
  apiService,
  headlessServiceHost,
  mediaService,
  nodeService,
  nodesService,
  turnService,
} from '../../../../../operator/clusters/network/services.ts';
import { richSpec, testCluster, testFacts } from '../../../../kit/fakes/media-cluster.ts';
import { fieldsOf } from '../../../../kit/fields.ts';

const slot = { index: 3, basePort: 30_500 };
const mediaOf = (spec: object) => mediaService(testCluster(spec), slot)?.spec;

test('the headless Service includes nodes that are not ready', () => {
  const { metadata, spec } = nodesService(testCluster());
  assert.equal(`${metadata.name}.calls.svc.cluster.local`, headlessServiceHost(testCluster(), testFacts()));
  assert.equal(spec.clusterIP, 'None');
  assert.equal(spec.publishNotReadyAddresses, true);
  assert.deepEqual(fieldsOf(spec.ports, 'port'), [4369, 9000, 9568]);
});

test('the API Service includes ready pods only, and the Service of a node also an unready pod', () => {
  const api = apiService(testCluster()).spec;
  assert.equal(api.publishNotReadyAddresses, undefined);
  assert.equal(api.selector['mediarooms.dev/index'], undefined);
  const own = nodeService(testCluster(), 3).spec;
  assert.equal(own.publishNotReadyAddresses, true);
  assert.equal(own.selector['mediarooms.dev/index'], '3');
  for (const { type, ports } of [api, own]) {
    assert.equal(type, 'ClusterIP');
    assert.deepEqual(
      ports.map(({ name, port }) => ({ name, port })),
      [{ name: 'http', port: 8080 }],
    );
  }
});

test('with nodePort the node port equals the container port, over UDP and TCP', () => {
  const spec = mediaOf({ workersPerNode: 2 });
  assert.equal(spec?.type, 'NodePort');
  assert.deepEqual(
    spec?.ports.map(({ protocol, port, targetPort, nodePort }) => [protocol, port, targetPort, nodePort]),
    [
      ['UDP', 30_500, 30_500, 30_500],
      ['TCP', 30_500, 30_500, 30_500],
      ['UDP', 30_501, 30_501, 30_501],
      ['TCP', 30_501, 30_501, 30_501],
    ],
  );
  assert.equal(spec?.externalTrafficPolicy, 'Local');
  assert.equal(spec?.publishNotReadyAddresses, true);
  assert.equal(spec?.selector['mediarooms.dev/index'], '3');
});

test('ports of phone calls are UDP only, with nodePort and with loadBalancer', () => {
  for (const exposure of ['nodePort', 'loadBalancer']) {
    const spec = mediaOf({ media: { exposure }, sip: { components: 1, calls: 2 } });
    assert.deepEqual(
      spec?.ports.map(({ protocol, port, nodePort }) => [protocol, port, nodePort]),
      [
        ['UDP', 30_500],
        ['TCP', 30_500],
        ['UDP', 30_501],
        ['UDP', 30_502],
        ['UDP', 30_503],
      ].map(([protocol, port]) => [protocol, port, exposure === 'nodePort' ? port : undefined]),
    );
  }
});

test('with loadBalancer the Service has the configured class and annotations and no explicit node ports', () => {
  const loadBalancer = { className: 'service.k8s.aws/nlb', annotations: { 'example.com/a': 'b' } };
  const service = mediaService(testCluster({ media: { exposure: 'loadBalancer', loadBalancer } }), slot);
  assert.equal(service?.spec.type, 'LoadBalancer');
  assert.equal(service?.spec.loadBalancerClass, 'service.k8s.aws/nlb');
  assert.deepEqual(service?.metadata.annotations, { 'example.com/a': 'b' });
  assert.ok(service?.spec.ports.every(({ nodePort }) => nodePort === undefined));
});

test('with udpOnly the load balancer has no TCP port', () => {
  const spec = {
    media: { exposure: 'loadBalancer', loadBalancer: { udpOnly: true } },
    turn: { enabled: true },
    sip: { components: 1, calls: 1 },
  };
  const protocols = new Set(mediaOf(spec)?.ports.map(({ protocol }) => protocol));
  assert.deepEqual([...protocols], ['UDP']);
  assert.equal(mediaOf(spec)?.ports.length, 4);
});

test('the load balancer of a pod has TURN over TLS at its own port, over TCP', () => {
  const turn = { enabled: true, tlsSecretName: 'turn-tls', tlsPort: 443 };
  const ports = mediaOf({ media: { exposure: 'loadBalancer' }, turn })?.ports ?? [];
  assert.deepEqual(fieldsOf(ports.slice(-2), 'protocol', 'port', 'targetPort'), [
    ['UDP', 30_502, 30_502],
    ['TCP', 443, 30_502],
  ]);
});

test('a pod has a Service of TURN over TLS for its route', () => {
  const turn = { enabled: true, tlsSecretName: 'turn-tls' };
  assert.equal(turnService(testCluster({ turn }), slot), undefined);
  const made = turnService(testCluster({ turn: { ...turn, tlsRoutes: { host: 'turn.example' } } }), slot);
  assert.equal(made?.metadata.name, 'media-3-turn');
  assert.equal(made?.spec.selector['mediarooms.dev/index'], '3');
  assert.deepEqual(fieldsOf(made?.spec.ports ?? [], 'protocol', 'port', 'targetPort'), [['TCP', 443, 30_502]]);
});

test('media needs no Service if it reaches the pod or its host directly', () => {
  for (const exposure of ['hostPort', 'hostNetwork', 'podIP']) assert.equal(mediaOf({ media: { exposure } }), undefined);
});

test('media Services expose no port of HTTP, EPMD, distribution or metrics', () => {
  for (const exposure of ['nodePort', 'loadBalancer'])
    for (const { targetPort } of mediaOf({ media: { exposure } })?.ports ?? [])
      assert.ok(![8080, 4369, 9000, 9568].includes(Number(targetPort)));
});

test('the Ingress has a path for each possible index and one for the API', () => {
  const made = ingress(testCluster(richSpec), {});
  const [rule] = made?.spec.rules ?? [];
  assert.deepEqual(
    rule?.http?.paths.map(({ path, pathType, backend }) => [path, pathType, backend.service?.name]),
    [
      ['/n/0', 'Prefix', 'media-0'],
      ['/n/1', 'Prefix', 'media-1'],
      ['/n/2', 'Prefix', 'media-2'],
      ['/n/3', 'Prefix', 'media-3'],
      ['/', 'Prefix', 'media'],
    ],
  );
  assert.deepEqual(made?.spec.tls, [{ hosts: ['media.example'], secretName: 'certificate' }]);
  assert.equal(made?.spec.ingressClassName, 'traefik');
  assert.deepEqual(made?.metadata.annotations, { 'example.com/timeout': '3600' });
});

test('the pod that replaces one of a lost Kubernetes node has a path under its spare index', () => {
  const [rule] = ingress(testCluster(richSpec), { spareIndexes: [5] })?.spec.rules ?? [];
  assert.deepEqual(
    rule?.http?.paths.map(({ path }) => path),
    ['/n/0', '/n/1', '/n/2', '/n/3', '/n/5', '/'],
  );
});

test('scaling within maxReplicas does not change the Ingress', () => {
  const at = (replicas: number) => ingress(testCluster({ replicas, ingress: { host: 'a.example' } }), {});
  assert.deepEqual(at(1), at(9));
});

for (const [what, wanted, api, host] of [
  ['TLS', { tls: { secretName: 's' } }, 'https://a.example', 'a.example/n/2'],
  ['no TLS', {}, 'http://a.example', 'a.example/n/2'],
  ['another port', { tls: { secretName: 's' }, port: 8443 }, 'https://a.example:8443', 'a.example:8443/n/2'],
  ['the default port', { tls: { secretName: 's' }, port: 443 }, 'https://a.example', 'a.example/n/2'],
  ['port 443 without TLS', { port: 443 }, 'http://a.example:443', 'a.example:443/n/2'],
] as const)
  test(`public URLs of an Ingress with ${what}`, () => {
    const { spec } = testCluster({ ingress: { host: 'a.example', ...wanted } });
    assert.equal(publicUrl(spec), api);
    assert.equal(nodeHost(spec, 2), host);
  });

test('without an Ingress there are no public URLs', () => {
  const cluster = testCluster();
  assert.equal(ingress(cluster, {}), undefined);
  assert.equal(publicUrl(cluster.spec), undefined);
  assert.equal(nodeHost(cluster.spec, 0), undefined);
});
