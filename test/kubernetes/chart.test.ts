// Chart templates: rejected values, and server-side validation of all rendered objects. Installation: chart-install.test.ts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { packageChart } from '../../tools/release/chart.mjs';
import { startApiServer } from '../kit/kube/api-server.ts';
import { chartFolder, helmOf, mustRun } from '../kit/kube/helm.ts';
import { applyDefinitions } from '../kit/kube/media-clusters.ts';
import { monitoringDefinitions } from '../kit/kube/third-party-crds.ts';
import { tempFolder } from '../kit/temp-folder.ts';

const server = await startApiServer({ after });
await applyDefinitions(server);
await server.apply(monitoringDefinitions);
await server.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s']);
for (const name of ['media', 'team-a', 'team-b']) await server.kubectl(['create', 'namespace', name]);

const helm = helmOf();
type Values = Record<string, unknown>;

/** Flags, and their standard input. */
const given = (values: Values) => [['-f', '-'], JSON.stringify(values)] as const;

async function render(values: Values): Promise<string> {
  const [flags, input] = given(values);
  return mustRun(helm, ['template', 'rooms', chartFolder, '--namespace', 'media', ...flags], input);
}

const labels = { team: 'media' };
/** Every value of values.yaml is set in one of these sets. */
const valueSets: Record<string, Values> = {
  none: {},
  'images of a private registry': {
    operator: { image: { repository: 'registry.example:5000/mediarooms/operator', tag: 'edge', pullPolicy: 'Always' } },
    node: { image: { repository: 'registry.example:5000/mediarooms/node', digest: `sha256:${'0a'.repeat(32)}` } },
    imagePullSecrets: [{ name: 'registry' }],
  },
  'two operators with topology spread': {
    operator: {
      replicas: 2,
      highAvailability: true,
      networkPolicy: { enabled: true, apiServerPorts: [16_443] },
      clusterDomain: 'k8s.example',
      traces: { endpoint: 'http://collector.example:4318/v1/traces', samplePercent: 100 },
      logLevel: 'debug',
      resources: { limits: { cpu: 1, memory: '1Gi' } },
      priorityClassName: 'system-cluster-critical',
      podLabels: labels,
      podAnnotations: { 'example.com/note': 'yes' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'media', operator: 'Exists' }],
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} }],
    },
  },
  'annotations of clouds and injectors': {
    operator: {
      podAnnotations: { 'vault.hashicorp.com/agent-inject-template': '{{ with secret "kv/mediarooms" }}{{ .Data.data.token }}{{ end }}' },
    },
    serviceAccount: {
      annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/production-eu-west-1-mediarooms-operator' },
    },
    mediaCluster: { annotations: { 'example.com/runbook': 'https://wiki.example/teams/video/runbooks/mediarooms?section=drain+a+node' } },
  },
  'users that the platform assigns': { podSecurity: { fixedUser: false } },
  'all namespaces': { operator: { watchNamespaces: ['*'] } },
  'three namespaces': { operator: { watchNamespaces: ['media', 'team-a', 'team-b'] } },
  'an operator alone': { mediaCluster: { create: false }, operator: { watchNamespaces: ['team-a'] } },
  'external RBAC': { rbac: { create: false }, serviceAccount: { name: 'given', annotations: { 'example.com/role': 'rooms' } } },
  'no cluster-wide permissions': { rbac: { nodes: false, definitions: false, aggregate: false } },
  monitoring: {
    monitoring: {
      serviceMonitor: { create: true, labels, interval: '15s' },
      alerts: { create: true, labels },
      dashboard: { create: true, labels: { grafana: '1' } },
    },
  },
  'a MediaCluster that scales, with a priority': {
    priorityClass: { create: true, value: 2000 },
    mediaCluster: {
      name: 'live',
      annotations: { 'example.com/owner': 'video' },
      spec: { autoscaling: { maxReplicas: 4 }, podTemplate: { labels }, imagePullSecrets: [{ name: 'own' }] },
    },
    uninstall: { deleteResources: true, deleteClaims: true, timeoutSeconds: 600 },
    test: { media: false },
  },
  'a MediaCluster with all optional objects': {
    mediaCluster: {
      spec: {
        replicas: 3,
        workersPerNode: 2,
        media: { exposure: 'loadBalancer', loadBalancer: { annotations: { 'example.com/lb': 'udp' } } },
        ingress: { host: 'rooms.example', className: 'traefik', tls: { secretName: 'tls' } },
        config: { componentsUsed: ['recording', 'hls'], s3: { bucket: 'recordings' }, limits: { maxRooms: 50 } },
        secrets: { s3: { name: 's3' } },
        storage: { persistentVolumeClaim: { size: '20Gi' } },
        turn: { enabled: true, tlsSecretName: 'turn-tls' },
        monitoring: { serviceMonitor: { interval: '30s' } },
        drain: { timeoutSeconds: 600 },
      },
    },
  },
};

test('helm lint --strict finds nothing', async () => {
  for (const values of Object.values(valueSets)) {
    const [flags, input] = given(values);
    const said = await mustRun(helm, ['lint', '--strict', '--namespace', 'media', chartFolder, ...flags], input);
    assert.match(said, /1 chart\(s\) linted, 0 chart\(s\) failed/);
    assert.doesNotMatch(said, /WARNING|ERROR/);
  }
});

for (const [name, values] of Object.entries(valueSets)) {
  test(`rendered objects are valid for the API server and reproducible: ${name}`, async () => {
    const text = await render(values);
    assert.equal(await render(values), text);
    const input = text.replace(/^ *helm.sh\/hook.*\n/gm, '');
    const flags = ['--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
    const { code, stdout, stderr } = await server.kubectl(['apply', ...flags], { input });
    assert.equal(code, 0, stderr);
    const objects = parseAllDocuments(text).filter(({ contents }) => contents !== null);
    assert.equal(stdout.trim().split('\n').length, objects.length);
    for (const line of stdout.trim().split('\n')) assert.match(line, /serverside-applied \(server dry run\)$/);
  });
}

test('a release with the longest name is valid', async () => {
  const [flags, input] = given({ monitoring: { serviceMonitor: { create: true }, alerts: { create: true }, dashboard: { create: true } } });
  // The maximum of Helm.
  const text = await mustRun(helm, ['template', 'r'.repeat(53), chartFolder, '--namespace', 'media', ...flags], input);
  const flagsOfApply = ['--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
  const { code, stderr } = await server.kubectl(['apply', ...flagsOfApply], { input: text });
  assert.equal(code, 0, stderr);
});

test('a change of the permission to read Nodes restarts the operator', async () => {
  const podOf = async (values: Values) => {
    const documents = parseAllDocuments(await render(values)).map(
      (document) => document.toJS() as { kind?: string; spec?: { template: object } },
    );
    return documents.find((each) => each?.kind === 'Deployment')?.spec?.template;
  };
  const [may, mayNot, again] = await Promise.all([
    podOf({}),
    podOf({ rbac: { nodes: false } }),
    podOf({ uninstall: { timeoutSeconds: 60 } }),
  ]);
  assert.ok(may);
  assert.notDeepEqual(may, mayNot);
  assert.deepEqual(may, again);
});

test('with external RBAC no Role is rendered, and the uninstall hook has a ServiceAccount that outlives that of the operator', async () => {
  type Rendered = { kind: string; spec: { template: { spec: { serviceAccountName: string } } } } | null;
  const values = { rbac: { create: false }, serviceAccount: { name: 'given' } };
  const objects = parseAllDocuments(await render(values)).map((document) => document.toJS() as Rendered);
  assert.deepEqual(
    objects.filter((object) => object?.kind.includes('Role')),
    [],
  );
  const hook = objects.find((object) => object?.kind === 'Job');
  assert.equal(hook?.spec.template.spec.serviceAccountName, 'rooms-operator-uninstall');
});

test('Helm keeps the MediaCluster, unless claims are to be deleted', async () => {
  type Rendered = { kind: string; metadata: { annotations?: Record<string, string> } } | null;
  const annotationsOf = async (values: Values) => {
    const objects = parseAllDocuments(await render(values)).map((document) => document.toJS() as Rendered);
    return objects.find((object) => object?.kind === 'MediaCluster')?.metadata.annotations;
  };
  const keep = { 'helm.sh/resource-policy': 'keep' };
  assert.deepEqual(await annotationsOf({}), keep);
  assert.deepEqual(await annotationsOf({ uninstall: { deleteResources: true }, mediaCluster: { annotations: { a: 'b' } } }), {
    a: 'b',
    ...keep,
  });
  assert.equal(await annotationsOf({ uninstall: { deleteResources: true, deleteClaims: true } }), undefined);
  // With --reuse-values of chart 0.7.0.
  assert.deepEqual(await annotationsOf({ uninstall: { deleteResources: null, deleteClaims: null } }), keep);
});

test('the notes name the Secret of the API tokens', async () => {
  const [flags, input] = given({ mediaCluster: { spec: { secrets: { apiTokens: { name: 'given-tokens' } } } } });
  const said = await mustRun(
    helmOf(server),
    ['install', 'rooms', chartFolder, '--namespace', 'media', '--dry-run=client', ...flags],
    input,
  );
  assert.match(said, /get secret given-tokens /);
  assert.doesNotMatch(said, /get secret rooms-api-tokens/);
});

test('each chart value is set in one of the tested sets', () => {
  const defaults = parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')) as Values;
  const isGroup = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  const open = new Set(['operator.resources', 'mediaCluster.spec', 'monitoring.dashboard.labels']);
  const pathsOf = (values: Values, at = ''): string[] =>
    Object.entries(values).flatMap(([key, value]) => (isGroup(value) && !open.has(at + key) ? pathsOf(value, `${at}${key}.`) : [at + key]));
  const valueAt = (values: Values, path: string): unknown =>
    path.split('.').reduce<unknown>((value, key) => (value as Values | undefined)?.[key], values);
  const unset = pathsOf(defaults).filter((path) => Object.values(valueSets).every((values) => valueAt(values, path) === undefined));
  assert.deepEqual(unset, ['operator.image.digest', 'node.image.tag']);
});

const refused: Record<string, [values: Values, message: RegExp]> = {
  'an unknown name': [{ nodes: {} }, /at '': additional properties 'nodes' not allowed/],
  'a misspelt name': [{ operator: { imagee: {} } }, /at '\/operator': additional properties 'imagee' not allowed/],
  'a string for a number': [{ operator: { replicas: 'many' } }, /at '\/operator\/replicas': got string, want integer/],
  'too many operators': [{ operator: { replicas: 9 } }, /at '\/operator\/replicas': maximum: got 9, want 5/],
  'a pull policy': [
    { operator: { image: { pullPolicy: 'Sometimes' } } },
    /pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'/,
  ],
  'an image without a name': [{ operator: { image: { repository: '' } } }, /repository': minLength: got 0, want 1/],
  'half a digest': [{ node: { image: { digest: 'sha256:12' } } }, /digest': 'sha256:12' does not match pattern/],
  'a log level': [{ operator: { logLevel: 'trace' } }, /logLevel': value must be one of 'error', 'warning', 'info', 'debug'/],
  'a namespace': [{ operator: { watchNamespaces: ['A_B'] } }, /watchNamespaces\/0': 'A_B' does not match pattern/],
  'all namespaces and one': [{ operator: { watchNamespaces: ['*', 'b'] } }, /'\*' means all namespaces and must be the only item/],
  'an unwatched MediaCluster': [
    { operator: { watchNamespaces: ['team-a'] } },
    /operator.watchNamespaces must contain media, the namespace of the MediaCluster; or set mediaCluster.create=false/,
  ],
  'a cluster domain': [{ operator: { clusterDomain: 'Cluster.Local' } }, /clusterDomain': 'Cluster.Local' does not match pattern/],
  'a label that is not a string': [{ operator: { podLabels: { a: { b: '1' } } } }, /podLabels\/a': got object, want string/],
  'a pull secret without a name': [{ imagePullSecrets: ['registry'] }, /imagePullSecrets\/0': got string, want object/],
  'a ServiceAccount name': [{ serviceAccount: { name: 'Not_A_Name' } }, /serviceAccount\/name': 'Not_A_Name' does not match pattern/],
  'yes for true': [{ rbac: { create: 'yes' } }, /rbac\/create': got string, want boolean/],
  'a MediaCluster name': [{ mediaCluster: { name: 'My_Cluster' } }, /mediaCluster\/name': 'My_Cluster' does not match pattern/],
  'a long MediaCluster name': [{ mediaCluster: { name: 'a'.repeat(41) } }, /mediaCluster\/name': maxLength: got 41, want 40/],
  'a misspelt field of the MediaCluster': [
    { mediaCluster: { spec: { replica: 3 } } },
    /mediaCluster\/spec': additional properties 'replica' not allowed/,
  ],
  'an exposure': [
    { mediaCluster: { spec: { media: { exposure: 'internet' } } } },
    /exposure': value must be one of 'nodePort', 'loadBalancer'/,
  ],
  'a setting of nodes': [{ mediaCluster: { spec: { config: { logLevel: 'loud' } } } }, /config\/logLevel': value must be one of/],
  'a secret in plain text': [
    { mediaCluster: { spec: { secrets: { apiTokens: 'plain' } } } },
    /secrets\/apiTokens': got string, want object/,
  ],
  'a priority above the maximum of users': [{ priorityClass: { value: 2_000_000_000 } }, /priorityClass\/value': maximum/],
  'a scrape interval': [{ monitoring: { serviceMonitor: { interval: 'often' } } }, /interval': 'often' does not match pattern/],
  'claims without their MediaClusters': [
    { uninstall: { deleteClaims: true } },
    /uninstall\.deleteClaims needs uninstall\.deleteResources, because MediaClusters that stay use their claims/,
  ],
  'an uninstall timeout of zero': [{ uninstall: { timeoutSeconds: 0 } }, /uninstall\/timeoutSeconds': minimum: got 0, want 1/],
};

for (const [name, [values, message]] of Object.entries(refused)) {
  test(`an invalid value is rejected before any change: ${name}`, async () => {
    const [flags, input] = given(values);
    const { code, stdout, stderr } = await helm(['template', 'rooms', chartFolder, '--namespace', 'media', ...flags], input);
    assert.equal(code, 1);
    assert.match(stderr, message);
    assert.equal(stdout, '');
  });
}

test('a violation of a MediaCluster rule is rejected by the API server with its message', async () => {
  const input = await render({ mediaCluster: { spec: { replicas: 20, ingress: { host: 'https://rooms.example/' } } } });
  const { code, stderr } = await server.kubectl(['apply', '--server-side', '--dry-run=server', '-n', 'media', '-f', '-'], { input });
  assert.equal(code, 1);
  assert.match(stderr, /must not be above maxReplicas/);
  assert.match(stderr, /must be a host name in lower case, without a scheme/);
});

test('two releases never create objects of the same name', async () => {
  const named = async (release: string, namespace: string, values: Values) => {
    const [flags, input] = given(values);
    const text = await mustRun(helm, ['template', release, chartFolder, '--namespace', namespace, ...flags], input);
    return parseAllDocuments(text).flatMap((document) => {
      const { kind, metadata } = (document.toJS() ?? {}) as { kind: string; metadata: { name: string; namespace?: string } };
      return kind === undefined ? [] : [`${kind} ${metadata.namespace ?? ''}/${metadata.name}`];
    });
  };
  const all = { priorityClass: { create: true }, monitoring: { alerts: { create: true }, dashboard: { create: true } } };
  const wide = { ...all, operator: { watchNamespaces: ['*'] } };
  for (const values of [all, wide]) {
    const names = await Promise.all([
      named('rooms', 'media', values),
      named('rooms', 'team-a', values),
      named('other', 'media', values),
      named('a-rooms', 'team', values),
    ]);
    const found = names.flat();
    assert.deepEqual([...new Set(found)].sort(), found.sort());
  }
});

test('the packaged chart renders the same objects, contains the CRDs, and has annotations of its release', async (t) => {
  const archive = await packageChart(tempFolder(t), [{ kind: 'added', description: 'A line.' }]);
  const rendered = (chart: string) => mustRun(helm, ['template', 'rooms', chart, '--include-crds', '--namespace', 'media']);
  const text = await rendered(archive);
  assert.equal(text, await rendered(chartFolder));
  assert.match(text, /^ {2}name: mediaclusters\.mediarooms\.dev$/m);
  const { annotations } = parse(await mustRun(helm, ['show', 'chart', archive]));
  assert.deepEqual(parse(annotations['artifacthub.io/changes']), [{ kind: 'added', description: 'A line.' }]);
});
