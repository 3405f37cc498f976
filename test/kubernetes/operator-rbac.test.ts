// Permissions of the operator: the Roles of the chart are sufficient, and all of them are used, according to the audit log.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { definitions, versionAnnotation } from '../../crds/crd-manifests.ts';
import { apiVersions } from '../../crds/types.ts';
import { eventually } from '../kit/eventually.ts';
import { type AuditedCall, AuditLog } from '../kit/kube/audit-log.ts';
import { ClusterFixture, isAvailable, smallCluster } from '../kit/kube/cluster-fixture.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { type ChartObject, type ChartOptions, renderChart } from '../kit/kube/helm.ts';
import { type OperatorProcess, startOperator } from '../kit/kube/operator-process.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { condition, room } from '../kit/kube/read-objects.ts';
import { monitoringDefinitions, routeDefinition, tlsRouteDefinitions } from '../kit/kube/third-party-crds.ts';
import type { CommandResult } from '../kit/processes/command.ts';

type Rule = { apiGroups: string[]; resources: string[]; resourceNames?: string[]; verbs: string[] };

const audit = new AuditLog({ after });
// The plugin requires `update` of the `finalizers` of an owner, as on OpenShift.
const flags = [...audit.flags, '--enable-admission-plugins=OwnerReferencesPermissionEnforcement'];
const server = await startControlPlane({ after }, { flags });
const thirdParty = [...monitoringDefinitions, routeDefinition, ...tlsRouteDefinitions];
await server.apply([olderDefinition('room.yaml'), olderDefinition('mediacluster.yaml'), ...thirdParty]);
await server.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=50s']);
const runner = await startPodRunner(server);

/** An older CRD that the operator upgrades. */
function olderDefinition(file: keyof typeof definitions): object {
  const older = structuredClone(definitions[file]) as unknown as { metadata: { annotations: Record<string, string> } };
  older.metadata.annotations[versionAnnotation] = '0';
  return older;
}

/** `verb group/resource` of all permissions of the Roles. */
function grantedBy(objects: readonly ChartObject[]): string[] {
  const rules = objects.flatMap(({ rules = [] }) => rules as Rule[]);
  const all = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`))),
  );
  return [...new Set(all)].sort();
}

/** Used permissions, without those of every account: discovery and access reviews. */
function usedBy(calls: readonly AuditedCall[]): string[] {
  const own = calls.filter(({ resource }) => resource !== '' && resource !== 'selfsubjectaccessreviews');
  const all = own.flatMap(({ verb, group, resource, code }) => {
    const name = `${group}/${resource}`;
    // Server-side apply of a missing object needs both.
    return verb === 'patch' && code === 201 ? [`patch ${name}`, `create ${name}`] : [`${verb} ${name}`];
  });
  return [...new Set(all)].sort();
}

/** Retries, because RBAC rules become effective a moment after they were written. */
async function becomes(run: () => Promise<CommandResult>, as: (result: CommandResult) => boolean): Promise<CommandResult> {
  let result: CommandResult | undefined;
  const check = async () => {
    result = await run();
    return as(result) ? result : undefined;
  };
  return eventually(() => `the rules are effective: ${JSON.stringify(result)}`, check, { every: 1 });
}

/** Waits until all rules are effective, checked by the administrator, so that the account itself has sent no request. */
async function untilInForce(account: string, objects: readonly ChartObject[]): Promise<void> {
  const user = `system:serviceaccount:default:${account}`;
  const asked = objects.flatMap(({ metadata, rules = [] }) =>
    (rules as Rule[]).map(({ apiGroups: [group], resources: [named = ''], resourceNames: [name] = [], verbs: [verb] }) => {
      const [resource, subresource] = named.split('/');
      return { namespace: metadata.namespace, group, resource, subresource, name, verb };
    }),
  );
  for (const resourceAttributes of asked) {
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { user, resourceAttributes } };
    const allowed = async () => {
      const { body } = await server.client.call('/apis/authorization.k8s.io/v1/subjectaccessreviews', { method: 'POST', body: review });
      return (body as { status?: { allowed: boolean } }).status?.allowed === true;
    };
    await eventually(`${account} may ${JSON.stringify(resourceAttributes)}`, allowed, { every: 1 });
  }
}

/** An account with the permissions of the chart, once effective, and a kubeconfig for it. */
async function install(options: Partial<ChartOptions>) {
  const objects = await renderChart({ ...options, only: ['rbac.yaml'] });
  const account = `${options.release}-operator`;
  const token = await server.serviceAccountToken('default', account);
  await server.apply(objects);
  await untilInForce(account, objects);
  return { account, objects, kubeconfig: server.kubeconfigFor({ token }) };
}

test('the Role of the chart is sufficient for the operator, and all of it is needed', async () => {
  const { account, objects, kubeconfig } = await install({ release: 'mediarooms' });
  const operator = startOperator({ after }, server, { kubeconfig });
  const fixture = new ClusterFixture(server, runner, operator);
  await operator.says(/started leading/);
  await exerciseEverything(fixture);
  await operator.stop();

  const calls = audit.callsOf(account);
  assert.deepEqual(
    calls.filter(({ code }) => code === 403),
    [],
  );
  // Proven by the next test: admission checks it without a separate request.
  const unseen = ['update mediarooms.dev/mediaclusters/finalizers', 'update mediarooms.dev/rooms/finalizers'];
  assert.deepEqual([...usedBy(calls), ...unseen].sort(), grantedBy(objects));
  const other = calls.filter(({ resource }) => resource === '').map(({ verb, path }) => `${verb} ${path.replace(/\?.*/, '')}`);
  assert.deepEqual(
    new Set(other),
    new Set(
      ['gateway.networking.k8s.io/v1', 'traefik.io/v1alpha1', ...Object.values(apiVersions), 'monitoring.coreos.com/v1'].map(
        (each) => `get /apis/${each}`,
      ),
    ),
  );
});

async function exerciseEverything(fixture: ClusterFixture): Promise<void> {
  const drain = { timeoutSeconds: 2 };
  const around = {
    ingress: { host: 'media.example' },
    monitoring: { serviceMonitor: {} },
    storage: { persistentVolumeClaim: { size: '1Gi' } },
  };
  const apply = (spec: Record<string, unknown>) => server.apply(smallCluster('media', { drain, ...around, ...spec }));
  const settled = (replicas: number) =>
    fixture.waitFor('mediaClusters', 'media', (cluster) => isAvailable(cluster) && cluster.status.replicas === replicas, 60_000);

  const theirs = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { namespace: 'default', name: 'media' } };
  await server.apply({ ...theirs, spec: { defaultBackend: { service: { name: 'theirs', port: { number: 80 } } } } });
  await apply({ replicas: 1 });
  await fixture.waitFor('mediaClusters', 'media', (cluster) => condition(cluster, 'Degraded')?.reason === 'NotOurs');
  await fixture.kubectl('delete', 'ingress', 'media');
  await settled(1);
  await fixture.waitFor('ingresses', 'media', (ingress) => ingress !== undefined, 60_000);

  await fixture.makeRoom('class', { peers: [{ name: 'anna' }, { name: 'bert' }] });
  await server.apply(room('class', { peers: [{ name: 'anna' }], maxPeers: 5 }));
  await fixture.waitFor('secrets', 'class-peers', (secret) => secret !== undefined && !('bert.token' in secret.data));
  await server.apply(room('class', {}));
  await fixture.waitFor('secrets', 'class-peers', (secret) => secret === undefined);
  await fixture.kubectl('delete', 'room', 'class', '--timeout=60s');
  await fixture.makeRoom('brief', { ttlSecondsAfterFinished: 0 });
  await (await fixture.api('media-0')).delete('/room/brief');
  await fixture.waitFor('rooms', 'brief', (each) => each === undefined);

  // Twice, so that the Event `Created pod media-1` repeats.
  for (const replicas of [2, 1, 2, 1]) {
    await apply({ replicas });
    await settled(replicas);
  }
  const { current } = (await fixture.get('secrets', 'media-secret-keys')).data;
  await apply({ replicas: 1, keyRotation: { generation: 1 } });
  await fixture.waitFor('secrets', 'media-secret-keys', (secret) => secret.data.current !== current, 60_000);

  const bare = { replicas: 1, drain, keyRotation: { generation: 1 }, networkPolicy: { enabled: false } };
  await server.apply(smallCluster('media', { ...bare, storage: around.storage }));
  for (const kind of ['ingresses', 'networkPolicies', 'serviceMonitors'] as const)
    await fixture.waitFor(kind, 'media', (object) => object === undefined);

  const gateway = { parentRefs: [{ name: 'public' }], host: 'media.example' };
  await server.apply(smallCluster('media', { ...bare, storage: around.storage, gateway }));
  await fixture.waitFor('httpRoutes', 'media', (route) => route !== undefined, 60_000);
  await server.apply(smallCluster('media', { ...bare, storage: around.storage }));
  await fixture.waitFor('httpRoutes', 'media', (route) => route === undefined, 60_000);

  const turn = { enabled: true, tlsSecretName: 'turn-tls' };
  const routed = (way: object) => smallCluster('routed', { replicas: 0, turn: { ...turn, tlsRoutes: { host: 'turn.example', ...way } } });
  await server.apply(routed({ gateway: { parentRefs: [{ name: 'public' }] } }));
  await fixture.waitFor('tlsRoutes', 'routed-0-turn', (route) => route !== undefined, 60_000);
  await server.apply(routed({ traefik: {} }));
  await fixture.waitFor('tlsRoutes', 'routed-0-turn', (route) => route === undefined, 60_000);
  await fixture.waitFor('ingressRouteTcps', 'routed-turn', (route) => route !== undefined, 60_000);
  await server.apply(routed({}));
  await fixture.waitFor('ingressRouteTcps', 'routed-turn', (route) => route === undefined, 60_000);
}

test('with OwnerReferencesPermissionEnforcement, created objects need the permission to update finalizers of owners', async () => {
  const { objects, kubeconfig } = await install({ release: 'guarded' });
  const without = objects.map((object) => {
    const rules = object.rules as Rule[] | undefined;
    return rules ? { ...object, rules: rules.filter(({ resources }) => !resources.includes('rooms/finalizers')) } : object;
  });
  const fixture = new ClusterFixture(server, runner, undefined as unknown as OperatorProcess);
  await server.apply([room('owner'), smallCluster('owner', { replicas: 0 })]);
  for (const plural of ['rooms', 'mediaClusters'] as const) {
    const { apiVersion, kind, metadata } = await fixture.get(plural, 'owner');
    const reference = { apiVersion, kind, name: 'owner', uid: metadata.uid, controller: true, blockOwnerDeletion: true };
    const owned = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `of-${plural.toLowerCase()}`, namespace: 'default', ownerReferences: [reference] },
    };
    const create = () => server.kubectl(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(owned), kubeconfig });
    await server.apply(objects);
    assert.equal((await becomes(create, ({ code }) => code === 0)).code, 0);
    await server.apply(without);
    assert.match(
      (await becomes(create, ({ code }) => code !== 0)).stderr,
      /cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on/,
    );
  }
});

test('with Roles for all namespaces the operator manages all of them and uses the cluster-wide Lease', async () => {
  const { account, objects, kubeconfig } = await install({ release: 'wide', values: { 'operator.watchNamespaces': ['*'] } });
  const operator = startOperator({ after }, server, { kubeconfig, env: { OPERATOR_WATCH_NAMESPACES: '*' } });
  await operator.says(/started leading/);
  await server.kubectl(['create', 'namespace', 'elsewhere']);
  const fixture = new ClusterFixture(server, runner, operator);
  await server.apply(smallCluster('media', { replicas: 0 }, 'elsewhere'));
  const looked = (cluster: { status?: { observedGeneration?: number } }) => cluster.status?.observedGeneration === 1;
  await fixture.waitFor('mediaClusters', 'media', looked, 30_000, 'elsewhere');
  assert.ok(await fixture.get('leases', 'mediarooms-operator-cluster-wide', 'kube-system'));
  await operator.stop();
  const calls = audit.callsOf(account);
  assert.deepEqual(
    calls.filter(({ code }) => code === 403),
    [],
  );
  const granted = new Set(grantedBy(objects));
  assert.deepEqual(
    usedBy(calls).filter((each) => !granted.has(each)),
    [],
  );
});

test('without cluster-wide permissions the operator works, and only its requests for CRDs are rejected', async () => {
  const values = { 'rbac.nodes': false, 'rbac.definitions': false };
  const { account, objects, kubeconfig } = await install({ release: 'narrow', values });
  assert.deepEqual(new Set(objects.map(({ kind }) => kind)), new Set(['Role', 'RoleBinding']));
  const operator = startOperator({ after }, server, { kubeconfig, env: { OPERATOR_APPLY_DEFINITIONS: 'false' } });
  await operator.says(/no permission to read Nodes/);
  await operator.says(/started leading/);
  await operator.stop();
  const calls = audit.callsOf(account);
  const refused = calls.filter(({ code }) => code === 403).map(({ verb, resource }) => `${verb} ${resource}`);
  assert.deepEqual(new Set(refused), new Set(['get customresourcedefinitions']));
  assert.deepEqual(
    calls.filter(({ resource }) => resource === 'nodes'),
    [],
  );
});
