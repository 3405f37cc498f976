// Values files of platforms: the chart and the objects of the operator are valid, and follow the rules of each platform.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { namesOf } from '../../operator/clusters/names.ts';
import { networkPolicy } from '../../operator/clusters/network/network-policy.ts';
import { mediaService } from '../../operator/clusters/network/services.ts';
import { pod } from '../../operator/clusters/pods/pod.ts';
import { testCluster, testFacts } from '../kit/fakes/media-cluster.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { type ChartObject, chartFolder, helmOf, mustRun } from '../kit/kube/helm.ts';
import { applyDefinitions } from '../kit/kube/media-clusters.ts';

const folder = join(chartFolder, 'values');
/** Values files by the name of a platform, as docs/reference/platforms.md combines them. */
const platforms: Record<string, readonly string[]> = {
  gke: ['gke'],
  autopilot: ['gke', 'gke-autopilot'],
  eks: ['eks'],
  aks: ['aks'],
  openshift: ['openshift'],
  k3s: ['k3s'],
  kind: ['kind'],
  metallb: ['metallb'],
  zones: ['eks', 'zones'],
  spot: ['aks', 'spot'],
};

type PodSpec = {
  containers: { name: string; resources?: { requests?: Record<string, string> } }[];
  volumes?: { name: string; emptyDir?: { sizeLimit?: string } }[];
  tolerations?: { key?: string; tolerationSeconds?: number }[];
  topologySpreadConstraints?: { topologyKey: string }[];
  affinity?: {
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: { weight: number; podAffinityTerm: { topologyKey: string } }[] };
  };
};
type Rendered = { objects: ChartObject[]; pods: Record<string, PodSpec>; cluster: ReturnType<typeof testCluster> };

const helm = helmOf();

async function renderPlatform(files: readonly string[]): Promise<Rendered> {
  const flags = files.flatMap((name) => ['-f', join(folder, `${name}.yaml`)]);
  const text = await mustRun(helm, ['template', 'rooms', chartFolder, '--namespace', 'media', ...flags]);
  const objects = parseAllDocuments(text).flatMap((document) => (document.contents ? [document.toJS() as ChartObject] : []));
  const ofKind = (kind: string) => objects.find((object) => object.kind === kind) ?? assert.fail(`no ${kind}`);
  const cluster = testCluster(ofKind('MediaCluster').spec as object, { name: 'rooms', namespace: 'media' });
  const ofTemplate = (kind: string) => (ofKind(kind).spec as { template: { spec: PodSpec } }).template.spec;
  const slot = { index: 0, basePort: cluster.spec.media?.ports?.from ?? 50_000 };
  const pods = {
    operator: ofTemplate('Deployment'),
    uninstall: ofTemplate('Job'),
    smoke: ofKind('Pod').spec as PodSpec,
    node: pod(cluster, testFacts(), slot).spec as PodSpec,
  };
  return { objects, pods, cluster };
}

const rendered = Object.fromEntries(
  await Promise.all(Object.entries(platforms).map(async ([name, files]) => [name, await renderPlatform(files)] as const)),
);
const of = (name: string) => rendered[name] ?? assert.fail(name);
const protocolsOf = (name: string) =>
  new Set(mediaService(of(name).cluster, { index: 0, basePort: 50_000 })?.spec.ports.map(({ protocol }) => protocol));

test('every values file is tested, and the page of platforms has a row for it', () => {
  const files = readdirSync(folder).map((name) => name.replace('.yaml', ''));
  assert.deepEqual([...new Set(Object.values(platforms).flat())].sort(), files.sort());
  const page = readFileSync(join(chartFolder, '../docs/reference/platforms.md'), 'utf8');
  for (const name of files) assert.match(page, new RegExp(`^\\|.*\`${name}\\.yaml\`.*\\| rendered \\|$`, 'm'));
});

test('all objects of all platforms are valid for an API server that enforces Pod Security restricted', async () => {
  const server = await startApiServer({ after });
  await applyDefinitions(server);
  await server.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s']);
  const metadata = { name: 'media', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } };
  await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata });
  // Admission of pods, which no controller writes here, needs their ServiceAccounts.
  for (const name of ['default', namesOf('rooms').serviceAccount])
    await server.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'media' } });
  for (const [name, { objects, cluster }] of Object.entries(rendered)) {
    const slot = { index: 0, basePort: cluster.spec.media?.ports?.from ?? 30_500 };
    const made = [pod(cluster, testFacts(), slot), networkPolicy(cluster, testFacts()), mediaService(cluster, slot)];
    // No owner of that uid exists.
    const ours = made.flatMap((each) => (each ? [{ ...each, metadata: { ...each.metadata, ownerReferences: [] } }] : []));
    const input = [...objects, ...ours].map((object) => stringify(object)).join('---\n');
    const flags = ['--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
    const { code, stderr } = await server.kubectl(['apply', ...flags], { input });
    assert.equal(code, 0, `${name}: ${stderr}`);
    assert.doesNotMatch(stderr, /violate PodSecurity/, name);
  }
});

test('every container of every platform requests CPU and memory', () => {
  for (const [name, { pods }] of Object.entries(rendered))
    for (const [role, { containers }] of Object.entries(pods))
      for (const { resources } of containers)
        for (const resource of ['cpu', 'memory']) assert.ok(resources?.requests?.[resource], `${name} ${role} ${resource}`);
});

test('on clouds every emptyDir has a size limit', () => {
  for (const name of ['gke', 'autopilot', 'eks', 'aks', 'openshift', 'metallb'])
    for (const [role, { volumes = [] }] of Object.entries(of(name).pods))
      for (const volume of volumes.filter(({ emptyDir }) => emptyDir))
        assert.ok(volume.emptyDir?.sizeLimit, `${name} ${role} ${volume.name}`);
});

test('OpenShift assigns users and groups, and on other platforms they are fixed', () => {
  assert.doesNotMatch(JSON.stringify(of('openshift').pods), /"(runAsUser|runAsGroup|fsGroup)":/);
  for (const [role, spec] of Object.entries(of('gke').pods)) assert.match(JSON.stringify(spec), /"runAsUser":10001/, role);
});

test('Autopilot gets nothing in kube-system, no host port and no host network', () => {
  const { objects, pods } = of('autopilot');
  assert.deepEqual(
    objects.filter(({ metadata }) => metadata.namespace === 'kube-system'),
    [],
  );
  assert.doesNotMatch(JSON.stringify(pods), /"(hostPort|hostNetwork|hostPath)":/);
});

test('the load balancer of EKS serves UDP only, and the others UDP and TCP', () => {
  assert.deepEqual([...protocolsOf('eks')], ['UDP']);
  for (const name of ['gke', 'autopilot', 'aks', 'metallb']) assert.deepEqual([...protocolsOf(name)], ['UDP', 'TCP'], name);
});

test('HTTP is open to the load balancers and controllers of the platforms that are not pods', () => {
  const httpFrom = (name: string) => networkPolicy(of(name).cluster, testFacts())?.spec.ingress[0]?.from?.slice(1);
  assert.deepEqual(httpFrom('gke'), [{ ipBlock: { cidr: '35.191.0.0/16' } }, { ipBlock: { cidr: '130.211.0.0/22' } }]);
  for (const name of ['eks', 'aks', 'openshift']) assert.equal(httpFrom(name)?.length, 1, name);
  assert.deepEqual(httpFrom('k3s'), []);
});

test('with zones.yaml operators and media nodes spread over zones and Kubernetes nodes', () => {
  const { operator, node } = of('zones').pods;
  assert.deepEqual(
    node?.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey),
    ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
  );
  assert.deepEqual(
    operator?.affinity?.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.map(({ weight, podAffinityTerm }) => [
      podAffinityTerm.topologyKey,
      weight,
    ]),
    [
      ['kubernetes.io/hostname', 100],
      ['topology.kubernetes.io/zone', 50],
    ],
  );
});

test('highAvailability runs two operators with a budget, which a lost Kubernetes node delays by 30 s', () => {
  const { objects, pods } = of('zones');
  const replicas = (name: string) =>
    (of(name).objects.find(({ kind }) => kind === 'Deployment')?.spec as { replicas: number } | undefined)?.replicas;
  assert.deepEqual([replicas('zones'), replicas('eks')], [2, 1]);
  assert.deepEqual(
    pods.operator?.tolerations?.map(({ key, tolerationSeconds }) => [key, tolerationSeconds]),
    [
      ['node.kubernetes.io/unreachable', 30],
      ['node.kubernetes.io/not-ready', 30],
    ],
  );
  const budget = objects.find(({ kind }) => kind === 'PodDisruptionBudget');
  assert.equal((budget?.spec as { maxUnavailable: number } | undefined)?.maxUnavailable, 1);
  assert.equal(
    of('eks').objects.find(({ kind }) => kind === 'PodDisruptionBudget'),
    undefined,
  );
});

test('with spot.yaml media nodes tolerate spot taints, and the operator does not', () => {
  const { operator, node } = of('spot').pods;
  assert.ok(node?.tolerations?.some(({ key }) => key === 'kubernetes.azure.com/scalesetpriority'));
  assert.equal(operator?.tolerations, undefined);
});

test('the policy of the operator allows metrics, DNS, the API server and media nodes only', () => {
  const policy = of('gke').objects.find(({ kind }) => kind === 'NetworkPolicy');
  type Rule = { ports: { port: number }[] };
  assert.ok(policy);
  const { ingress, egress } = policy.spec as { ingress: Rule[]; egress: Rule[] };
  const portsOf = (rules: Rule[]) => [...new Set(rules.flatMap(({ ports }) => ports.map(({ port }) => port)))];
  assert.deepEqual([portsOf(ingress), portsOf(egress)], [[8081], [53, 5353, 443, 6443, 8080]]);
});

test('roles of users can read or change Rooms and MediaClusters, and never their status', () => {
  const roles = of('k3s').objects.filter(({ kind, metadata }) => kind === 'ClusterRole' && /-(view|edit)$/.test(metadata.name));
  assert.equal(roles.length, 2);
  for (const { metadata, rules } of roles as unknown as {
    metadata: { labels: object };
    rules: { resources: string[]; verbs: string[] }[];
  }[]) {
    const label = Object.keys(metadata.labels).find((key) => key.includes('aggregate-to-'));
    const writes = (index: number) => rules[index]?.verbs.includes('patch');
    assert.deepEqual([writes(0), writes(1)], [label?.endsWith('edit'), false]);
  }
});
