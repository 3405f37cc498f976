// Pod of a media node: hardening, environment, and which changes require a new pod.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownNames } from '../../../../../api/settings/variables.ts';
import { indexOf } from '../../../../../operator/clusters/names.ts';
import type { ObservedPod } from '../../../../../operator/clusters/observed-objects.ts';
import { drainTimeoutMs } from '../../../../../operator/clusters/pods/node-env.ts';
import { podSnapshot } from '../../../../../operator/clusters/pods/observe-pod.ts';
import { pod, specHash, templateHash } from '../../../../../operator/clusters/pods/pod.ts';
import type { DrainReason } from '../../../../../operator/clusters/pods/pod-snapshot.ts';
import { persistentVolumeClaim } from '../../../../../operator/clusters/pods/storage.ts';
import { isSigned } from '../../../../../operator/clusters/secrets/signed-calls.ts';
import type { Stored } from '../../../../../operator/kube/objects.ts';
import { richSpec, testCluster, testFacts } from '../../../../kit/fakes/media-cluster.ts';

const slot = { index: 2, basePort: 30_500 };
const podOf = (spec: object = {}, facts = testFacts()) => pod(testCluster(spec), facts, slot);
const hashOf = (spec: object = {}, facts = testFacts()) => templateHash(testCluster(spec), facts);

function envOf(spec: object = {}, facts = testFacts()): Record<string, string | undefined> {
  const { env } = podOf(spec, facts).spec.containers[0];
  assert.equal(new Set(env.map(({ name }) => name)).size, env.length, 'a variable twice');
  return Object.fromEntries(env.map(({ name, value, valueFrom }) => [name, valueFrom ? JSON.stringify(valueFrom) : value]));
}

test('a pod has a host name under the headless Service and an index label', () => {
  const { metadata, spec } = podOf();
  assert.equal(metadata.name, 'media-2');
  assert.equal(indexOf({ metadata }), 2);
  assert.deepEqual([spec.hostname, spec.subdomain], ['media-2', 'media-nodes']);
});

test('a pod sets only variables that nodes support', () => {
  for (const name of Object.keys(envOf(richSpec)).filter((each) => each.startsWith('SVC_')))
    assert.ok(knownNames.has(name.slice('SVC_'.length)), name);
});

test('the environment contains addresses, discovery and ports of a node', () => {
  const env = envOf({ workersPerNode: 2 });
  assert.equal(env.POD_IP, '{"fieldRef":{"fieldPath":"status.podIP"}}');
  assert.equal(env.SVC_DIST_NODE_NAME, 'svc@$(POD_IP)');
  assert.equal(env.SVC_DIST_QUERY, 'media-nodes.calls.svc.cluster.local');
  assert.deepEqual([env.SVC_DIST_COOKIE, env.SVC_DIST_COOKIE_FILE], [undefined, '/etc/mediarooms/secrets/cookie']);
  assert.equal(env.SVC_HOST, '$(POD_IP):8080');
  assert.equal(env.SVC_WEBRTC_BASE_PORT, '30500');
  assert.equal(env.SVC_WEBRTC_WORKERS, '2');
  assert.equal(env.SVC_DRAIN_TIMEOUT, '3600');
  assert.equal(env.SVC_TRUST_PROXY, undefined);
});

test('no variable refers to a Secret, except the cookie of an older image, which is the effective one', () => {
  for (const spec of [{}, richSpec]) assert.ok(!JSON.stringify(podOf(spec).spec.containers[0].env).includes('secretKeyRef'));
  const older = envOf({ image: 'node:0.7.0' });
  assert.deepEqual(
    [older.SVC_DIST_COOKIE, older.SVC_DIST_COOKIE_FILE],
    ['{"secretKeyRef":{"name":"media-config","key":"cookie"}}', undefined],
  );
  const cluster = testCluster({}, { annotations: { 'mediarooms.dev/calls': 'bearer' } });
  const names = pod(cluster, testFacts(), slot).spec.containers[0].env.map(({ name }) => name);
  assert.ok(names.includes('SVC_DIST_COOKIE') && !names.includes('SVC_DIST_COOKIE_FILE'));
  const given = envOf({ podTemplate: { extraEnv: [{ name: 'SVC_DIST_COOKIE', value: 'of-the-user' }] } });
  assert.deepEqual([given.SVC_DIST_COOKIE, given.SVC_DIST_COOKIE_FILE], ['of-the-user', undefined]);
});

test('POD_IP is defined before the variables that use it', () => {
  const { env } = podOf(richSpec).spec.containers[0];
  assert.equal(env[0]?.name, 'POD_IP');
});

test('reloadable variables of the image are unset, so that the file takes effect', () => {
  const { env } = podOf().spec.containers[0];
  assert.deepEqual(
    env.filter(({ name }) => name.includes('ALLOW_PRIVATE')),
    [{ name: 'SVC_WEBHOOK_ALLOW_PRIVATE' }],
  );
  const open = podOf({ config: { allowPrivateAddresses: true } }).spec.containers[0].env;
  assert.deepEqual(
    open.filter(({ name }) => name.includes('ALLOW_PRIVATE')),
    [{ name: 'SVC_WEBHOOK_ALLOW_PRIVATE' }, { name: 'SVC_ALLOW_PRIVATE_ADDRESSES' }],
  );
});

test('with an Ingress each node has a separate path and trusts one proxy', () => {
  const ingress = { host: 'media.example', tls: { secretName: 'c' } };
  const env = envOf({ ingress });
  assert.equal(env.SVC_HOST, 'media.example/n/2');
  assert.equal(env.SVC_TRUST_PROXY, '1');
  for (const exposure of ['podIP', 'hostNetwork'])
    assert.match(envOf({ ingress, media: { exposure } }).SVC_TRUST_PROXY ?? '', /^1 10\.0\.0\.0\/8 /, exposure);
  assert.equal(envOf(richSpec).SVC_TRUST_PROXY, '10.1.0.0/16');
});

test('named proxies are the only trusted ones, also without an Ingress', () => {
  const trustedProxies = ['10.42.3.0/24', 'fd00:42::/64'];
  for (const more of [{}, { ingress: { host: 'media.example' } }, { media: { exposure: 'podIP' } }])
    assert.equal(envOf({ trustedProxies, ...more }).SVC_TRUST_PROXY, '10.42.3.0/24 fd00:42::/64', JSON.stringify(more));
});

test('TURN listens on the port after those of the workers', () => {
  const env = envOf({ workersPerNode: 2, turn: { enabled: true } });
  assert.deepEqual([env.SVC_WEBRTC_TURN_ENABLED, env.SVC_WEBRTC_TURN_PORT], ['true', '30502']);
});

test('with a certificate TURN over TLS listens on the next port, and HTTP is unchanged', () => {
  const turn = { enabled: true, tlsSecretName: 'turn-tls', tlsHost: '*.turn.example' };
  const env = envOf({ workersPerNode: 2, turn });
  assert.deepEqual(
    [env.SVC_WEBRTC_TURN_PORT, env.SVC_WEBRTC_TURN_TLS_PORT, env.SVC_WEBRTC_TURN_TLS_HOST],
    ['30502', '30503', '*.turn.example'],
  );
  assert.deepEqual([env.SVC_SSL_KEY_PATH, env.SVC_SSL_CERT_PATH], [undefined, undefined]);
  const { volumes, containers } = podOf({ workersPerNode: 2, turn }).spec;
  const { mountPath } = containers[0].volumeMounts.find(({ name }) => name === 'turn') ?? {};
  assert.deepEqual([env.SVC_WEBRTC_TURN_TLS_KEY_PATH, env.SVC_WEBRTC_TURN_TLS_CERT_PATH], [`${mountPath}/tls.key`, `${mountPath}/tls.crt`]);
  assert.deepEqual(volumes.find(({ name }) => name === 'turn')?.secret, { secretName: 'turn-tls', defaultMode: 0o440 });
  assert.equal(envOf({ turn: { enabled: true, tlsSecretName: 'turn-tls' } }).SVC_WEBRTC_TURN_TLS_HOST, undefined);
  assert.equal(
    podOf({ turn: { enabled: true } }).spec.volumes.some(({ name }) => name === 'turn'),
    false,
  );
});

test('behind a proxy clients get the name of the pod and the port of the proxy, and routes change without a rollout', () => {
  const routed = (way: object) => ({ turn: { enabled: true, tlsSecretName: 'turn-tls', tlsRoutes: { host: 'turn.example', ...way } } });
  const addressOf = (spec: object) => {
    const env = envOf(spec);
    return [env.SVC_WEBRTC_TURN_TLS_HOST, env.SVC_WEBRTC_TURN_TLS_PUBLIC_PORT];
  };
  assert.deepEqual(addressOf(routed({})), ['media-2.turn.example', '443']);
  assert.deepEqual(addressOf(routed({ port: 8443 })), ['media-2.turn.example', '8443']);
  const header = (way: object) => envOf(routed(way)).SVC_WEBRTC_TURN_TLS_PROXY_PROTOCOL;
  assert.deepEqual([header({}), header({ proxyProtocol: true })], [undefined, 'true']);
  const balanced = { media: { exposure: 'loadBalancer' }, turn: { enabled: true, tlsSecretName: 'turn-tls', tlsPort: 443 } };
  assert.deepEqual(addressOf(balanced), [undefined, '443']);
  const hashes = (spec: object) => [templateHash(testCluster(spec), testFacts()), specHash(testCluster(spec))];
  assert.deepEqual(hashes(routed({ traefik: {} })), hashes(routed({ annotations: { 'example.com/a': 'b' } })));
  assert.notDeepEqual(hashes(routed({})), hashes(routed({ port: 8443 })));
});

test('clients of LiveKit are accepted if the spec enables them, which changes the pod', () => {
  const enabled = { livekit: { enabled: true } };
  assert.deepEqual([envOf(enabled).SVC_LIVEKIT_ENABLED, envOf().SVC_LIVEKIT_ENABLED], ['true', undefined]);
  assert.notEqual(specHash(testCluster(enabled)), specHash(testCluster({})));
});

test('the environment and the container ports contain the ports of SIP and calls, as host ports if the exposure requires it', () => {
  const spec = { workersPerNode: 2, turn: { enabled: true }, sip: { components: 2, calls: 3 } };
  const env = envOf(spec);
  assert.deepEqual([env.SVC_SIP_PORT, env.SVC_SIP_RTP_PORTS], ['30503-30504', '30505-30507']);
  assert.deepEqual([envOf().SVC_SIP_PORT, envOf().SVC_SIP_RTP_PORTS], [undefined, undefined]);
  const portsOf = (exposure: string) =>
    podOf({ ...spec, media: { exposure } })
      .spec.containers[0].ports.filter(({ containerPort }) => containerPort > 30_502)
      .map(({ protocol, containerPort, hostPort }) => [protocol, containerPort, hostPort]);
  for (const exposure of ['nodePort', 'loadBalancer', 'podIP', 'hostPort', 'hostNetwork']) {
    assert.deepEqual(
      portsOf(exposure),
      [30_503, 30_504, 30_505, 30_506, 30_507].map((port) => ['UDP', port, exposure.startsWith('host') ? port : undefined]),
    );
  }
});

test('in an IPv6 cluster a node listens on IPv6 and its address is in brackets', () => {
  const env = envOf({}, testFacts({ ipFamily: 'IPv6' }));
  assert.deepEqual([env.SVC_IP, env.SVC_HOST, env.SVC_DIST_NODE_NAME], ['::', '[$(POD_IP)]:8080', 'svc@$(POD_IP)']);
});

test('with dual-stack Services a node listens on both families, and its own address has the family of the Kubernetes cluster', () => {
  const env = envOf({}, testFacts({ ipFamily: 'IPv4', dualStack: true }));
  assert.deepEqual([env.SVC_IP, env.SVC_WEBRTC_TURN_LISTEN_IP, env.SVC_HOST], ['::', '::', '$(POD_IP):8080']);
});

test('a pod has the strictest security context', () => {
  for (const spec of [{}, richSpec]) {
    const { spec: made } = podOf(spec);
    assert.equal(made.automountServiceAccountToken, false);
    assert.equal(made.enableServiceLinks, false);
    assert.equal(made.securityContext.runAsNonRoot, true);
    assert.equal(made.securityContext.runAsUser, 10_001);
    assert.equal(made.securityContext.fsGroup, 10_001);
    assert.deepEqual(made.securityContext.seccompProfile, { type: 'RuntimeDefault' });
    assert.deepEqual(made.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  }
});

test('the hash of the spec covers what shapes a pod, but not the version of the operator', () => {
  const of = (spec: object) => specHash(testCluster(spec));
  assert.equal(podOf().metadata.annotations?.['mediarooms.dev/spec-hash'], of({}));
  assert.equal(of({ replicas: 3, maxReplicas: 5, rollout: { paused: true } }), of({}));
  for (const spec of [{ workersPerNode: 2 }, { image: 'a' }, { drain: { timeoutSeconds: 5 } }, { ingress: { host: 'a.example' } }])
    assert.notEqual(of(spec), of({}), JSON.stringify(spec));
});

test('each cause of a drain may have a timeout, which is no reason for a rollout', () => {
  const drain = { timeoutSeconds: 60, rollout: { timeoutSeconds: 7200 }, node: { timeoutSeconds: 0 } };
  const timeout = (reason: DrainReason) => drainTimeoutMs(testCluster({ drain }), reason);
  assert.deepEqual([timeout('Rollout'), timeout('ScaleDown'), timeout('HostDrained')], [7_200_000, 60_000, 0]);
  assert.equal(drainTimeoutMs(testCluster({}), 'ScaleDown'), 3_600_000);
  assert.equal(hashOf({ drain }), hashOf({ drain: { timeoutSeconds: 60 } }));
});

test('user and groups of a pod are left to the platform on request', () => {
  const { runAsUser, runAsGroup, fsGroup, runAsNonRoot } = podOf({ podTemplate: { fixedUser: false } }).spec.securityContext;
  assert.deepEqual([runAsUser, runAsGroup, fsGroup, runAsNonRoot], [undefined, undefined, undefined, true]);
});

test('a pod has default requests and a bounded /tmp, which replace no running pod', () => {
  const { containers, volumes } = podOf().spec;
  assert.deepEqual(containers[0].resources, { requests: { cpu: '100m', memory: '256Mi' } });
  assert.deepEqual(volumes.find(({ name }) => name === 'tmp')?.emptyDir, { sizeLimit: '1Gi' });
  for (const resources of [{ requests: {} }, { limits: { memory: '1Gi' } }])
    assert.deepEqual(podOf({ resources }).spec.containers[0].resources, resources);
  // The same pod, but only configured resources are part of the hash.
  const configured = { resources: { requests: { cpu: '100m', memory: '256Mi' } } };
  assert.deepEqual(podOf(configured).spec, podOf().spec);
  assert.notEqual(hashOf(configured), hashOf());
});

test('the grace period of a pod is its drain timeout plus a minute', () => {
  assert.equal(podOf().spec.terminationGracePeriodSeconds, 3660);
  assert.equal(podOf(richSpec).spec.terminationGracePeriodSeconds, 180);
});

test('host ports are used only if the exposure requires them', () => {
  const hostPorts = (exposure: string) =>
    podOf({ media: { exposure } }).spec.containers[0].ports.flatMap(({ name, hostPort }) => (hostPort ? [name] : []));
  for (const exposure of ['nodePort', 'loadBalancer', 'podIP']) assert.deepEqual(hostPorts(exposure), []);
  assert.deepEqual(hostPorts('hostPort'), ['udp-30500', 'tcp-30500']);
  assert.deepEqual(hostPorts('hostNetwork'), ['http', 'metrics', 'epmd', 'dist', 'udp-30500', 'tcp-30500']);
  const { hostNetwork, dnsPolicy } = podOf({ media: { exposure: 'hostNetwork' } }).spec;
  assert.deepEqual([hostNetwork, dnsPolicy], [true, 'ClusterFirstWithHostNet']);
});

test('the pod template is merged into pods and cannot override fields of the operator', () => {
  const { metadata, spec } = podOf(richSpec);
  assert.equal(metadata.labels.team, 'calls');
  assert.equal(metadata.annotations?.['example.com/note'], 'kept');
  const forced = podOf({ podTemplate: { labels: { 'mediarooms.dev/index': '9', 'app.kubernetes.io/component': 'x' } } }).metadata.labels;
  assert.deepEqual([forced['mediarooms.dev/index'], forced['app.kubernetes.io/component']], ['2', 'node']);
  assert.deepEqual(spec.nodeSelector, { pool: 'media' });
  assert.ok(spec.volumes.some(({ name }) => name === 'films'));
  assert.ok(spec.containers[0].volumeMounts.some(({ mountPath }) => mountPath === '/films'));
  assert.equal(envOf(richSpec).SVC_DIST_TICK, '15');
  assert.deepEqual(spec.imagePullSecrets, [{ name: 'registry' }]);
});

test('pods are spread over Kubernetes nodes unless configured otherwise', () => {
  assert.equal(podOf().spec.topologySpreadConstraints[0]?.topologyKey, 'kubernetes.io/hostname');
  assert.deepEqual(podOf({ podTemplate: { topologySpreadConstraints: [] } }).spec.topologySpreadConstraints, []);
});

test('files are stored in a claim of the index or in an emptyDir', () => {
  const resourcesOf = (spec: object) => podOf(spec).spec.volumes.find(({ name }) => name === 'resources');
  assert.deepEqual(resourcesOf({}), { name: 'resources', emptyDir: {} });
  assert.deepEqual(resourcesOf({ storage: { emptyDir: { sizeLimit: '5Gi' } } }), { name: 'resources', emptyDir: { sizeLimit: '5Gi' } });
  assert.deepEqual(resourcesOf(richSpec), { name: 'resources', persistentVolumeClaim: { claimName: 'media-2' } });
  assert.equal(persistentVolumeClaim(testCluster(richSpec), 2)?.metadata.name, 'media-2');
  assert.equal(persistentVolumeClaim(testCluster(), 2), undefined);
});

test('reloadable changes keep the template hash', () => {
  const before = hashOf(richSpec);
  const same = [
    { config: { ...richSpec.config, logLevel: 'info' } },
    { replicas: 1 },
    { media: { announcedAddress: '192.0.2.9' } },
    { ingress: { ...richSpec.ingress, annotations: {} } },
    { secrets: { ...richSpec.secrets, s3: { name: 'other-keys' } } },
    { secrets: { ...richSpec.secrets, cookie: { name: 'other-cookie' } } },
    { networkPolicy: { enabled: false } },
    { monitoring: {} },
  ];
  for (const change of same) assert.equal(hashOf({ ...richSpec, ...change }), before, JSON.stringify(change));
  assert.equal(hashOf(richSpec, testFacts({ secrets: new Map(), nodePortRange: { from: 20_000, to: 21_000 } })), before);
});

test('all other changes change the template hash', () => {
  const changes = [
    { workersPerNode: 3 },
    { resources: { limits: { cpu: '3' } } },
    { podTemplate: { ...richSpec.podTemplate, labels: { team: 'other' } } },
    { podTemplate: { ...richSpec.podTemplate, annotations: { a: 'b' } } },
    { podTemplate: { ...richSpec.podTemplate, extraEnv: [] } },
    { ingress: { ...richSpec.ingress, host: 'other.example' } },
    { storage: { emptyDir: {} } },
    { turn: { enabled: false } },
    { sip: { ...richSpec.sip, calls: 7 } },
    { drain: { timeoutSeconds: 121 } },
    { media: { exposure: 'loadBalancer' } },
    { media: { ports: { from: 31_000, to: 31_100 } } },
  ];
  const hashes = [richSpec, ...changes.map((change) => ({ ...richSpec, ...change }))].map((spec) => hashOf(spec));
  assert.equal(new Set(hashes).size, hashes.length);
});

test('the default image of the operator and spec.image are no part of the hash', () => {
  assert.equal(hashOf({}, testFacts({ image: 'registry.example/mediarooms:0.9.1' })), hashOf({}));
  assert.equal(hashOf({ image: 'registry.example/media:next' }), hashOf({}));
});

test('a pod is current with any default image, and only with the image that spec.image names', () => {
  const isCurrent = (made: ReturnType<typeof podOf>, image: string | undefined) => {
    const stored = { ...made, metadata: { ...made.metadata, uid: 'uid', resourceVersion: '1' } } as unknown as Stored<ObservedPod>;
    const nothing = { lost: () => false, leaving: () => false, report: () => undefined, unpolled: () => false };
    return podSnapshot(stored, { templateHash: hashOf(), specHash: 'of another spec', image, indexes: 10, ...nothing }).current;
  };
  const byDefault = podOf({}, testFacts({ image: 'node:0.8.0' }));
  assert.deepEqual(
    [undefined, 'node:0.8.0', 'node:0.8.1'].map((image) => isCurrent(byDefault, image)),
    [true, true, false],
  );
  // As after an admission webhook, and as created by an older operator.
  const [node] = byDefault.spec.containers;
  const mirrored = { ...byDefault, spec: { ...byDefault.spec, containers: [{ ...node, image: 'mirror/node:0.8.0' }] } } as typeof byDefault;
  assert.equal(isCurrent(mirrored, 'node:0.8.0'), true);
  const { 'mediarooms.dev/image': _, ...annotations } = byDefault.metadata.annotations ?? {};
  assert.equal(isCurrent({ ...byDefault, metadata: { ...byDefault.metadata, annotations } }, 'node:0.8.0'), true);
});

test('pods of all indexes have the same hash', () => {
  const cluster = testCluster(richSpec);
  const hash = ({ index, basePort }: { index: number; basePort: number }) =>
    pod(cluster, testFacts(), { index, basePort }).metadata.annotations?.['mediarooms.dev/template-hash'];
  assert.equal(hash({ index: 0, basePort: 30_000 }), templateHash(cluster, testFacts()));
  assert.equal(hash({ index: 3, basePort: 31_000 }), templateHash(cluster, testFacts()));
});

test('a pod is annotated for signed requests unless its image is older', () => {
  const marks = (image?: string) => podOf(image === undefined ? {} : { image }).metadata.annotations?.['mediarooms.dev/calls'];
  for (const image of [
    undefined,
    'r.example:5000/node',
    'node:0.8.0',
    'node:v0.10.1',
    'node:1.0.7',
    'node:0.70.0',
    `node@sha256:${'0'.repeat(64)}`,
    'r:0.7/node',
  ])
    assert.equal(marks(image), 'signed', image);
  for (const image of ['node:0.7.0', 'r.example:5000/a/node:v0.7.1-slim', 'node:0.6', `node:0.7.0@sha256:${'0'.repeat(64)}`])
    assert.equal(marks(image), undefined, image);
});

test('requests to a pod are signed by its annotation, unless its MediaCluster requires the token', () => {
  const called = (annotations: object, cluster: object = {}) => {
    const { metadata, ...rest } = testCluster();
    return isSigned(
      { ...rest, metadata: { ...metadata, annotations: cluster as Record<string, string> } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'media-0', annotations: annotations as Record<string, string> },
      },
    );
  };
  const key = 'mediarooms.dev/calls';
  assert.equal(called({ [key]: 'signed' }), true);
  assert.equal(called({}), false, 'created by an older operator');
  assert.equal(called({ [key]: 'signed' }, { [key]: 'bearer' }), false);
  assert.equal(called({ [key]: 'signed' }, { [key]: 'else' }), true);
});
