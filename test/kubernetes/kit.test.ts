// The test kit: the API server and controllers are real, and pods run as a kubelet would run them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../kit/eventually.ts';
import { startApiServer } from '../kit/kube/api-server.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { type ContainerStatus, isReady, type Pod, type Terminated } from '../kit/kube/pods/pod-spec.ts';

/** A failed request counts as a condition that does not hold yet. */
async function until(what: string, look: () => Promise<boolean> | boolean, within?: number): Promise<void> {
  await eventually(what, () => Promise.resolve(look()).catch(() => false), { within });
}

const secretKey = 'a-secret-key-of-the-kit-that-is-long-enough';
const apiToken = 'the-api-token-of-the-kit';
const settings = (limit: number) => `limits: { maxRooms: ${limit} }\n`;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function mediaPod(name: string, spec: object = {}, container: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'media' } },
    spec: {
      hostname: name,
      subdomain: 'nodes',
      terminationGracePeriodSeconds: 30,
      volumes: [
        { name: 'config', configMap: { name: 'settings' } },
        { name: 'data', emptyDir: {} },
        { name: 'pod', downwardAPI: { items: [{ path: 'address', fieldRef: { fieldPath: "metadata.annotations['test/address']" } }] } },
      ],
      containers: [
        {
          name: 'node',
          image: 'mediarooms',
          env: [
            { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'SVC_HOST', value: '$(POD_IP):8080' },
            { name: 'SVC_SERVER_API_TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
            { name: 'SVC_SECRET_KEY_BASE', valueFrom: { secretKeyRef: { name: 'keys', key: 'key' } } },
            { name: 'SVC_CONFIG_FILES', value: '/etc/mediarooms/settings.yaml' },
            { name: 'SVC_RESOURCES_BASE_PATH', value: '/data' },
            { name: 'SVC_WEBRTC_TURN_IP_FILE', value: '/etc/pod/address' },
            { name: 'SVC_WEBRTC_WORKERS', value: '1' },
            { name: 'SVC_WEBRTC_BASE_PORT', value: '30500' },
            { name: 'SVC_DIST_ENABLED', value: 'true' },
            { name: 'SVC_DIST_MODE', value: 'name' },
            { name: 'SVC_DIST_NODE_NAME', value: 'svc@$(POD_IP)' },
            { name: 'SVC_DIST_STRATEGY_NAME', value: 'DNS' },
            { name: 'SVC_DIST_QUERY', value: 'nodes.default.svc.cluster.local' },
            { name: 'SVC_DIST_POLLING_INTERVAL', value: '300' },
            { name: 'SVC_DRAIN_TIMEOUT', value: '5' },
          ],
          ports: [{ name: 'http', containerPort: 8080 }],
          volumeMounts: [
            { name: 'config', mountPath: '/etc/mediarooms' },
            { name: 'data', mountPath: '/data' },
            { name: 'pod', mountPath: '/etc/pod' },
          ],
          readinessProbe: { httpGet: { path: '/readyz', port: 'http' }, periodSeconds: 1 },
          livenessProbe: { httpGet: { path: '/livez', port: 'http' }, periodSeconds: 5 },
          ...container,
        },
      ],
      ...spec,
    },
  };
}

const objects = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { 'settings.yaml': settings(7) } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys', namespace: 'default' }, stringData: { token: apiToken, key: secretKey } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'nodes', namespace: 'default' },
    spec: { clusterIP: 'None', selector: { app: 'media' }, publishNotReadyAddresses: true, ports: [{ name: 'http', port: 8080 }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'api', namespace: 'default' },
    spec: { selector: { app: 'media' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  },
];

const api = await startApiServer({ after }, { users: [{ name: 'reader', groups: ['readers'] }] });
const plane = await startControlPlane({ after });
const runner = await startPodRunner(plane);
await plane.apply(objects);

describe('An API server of the kit', () => {
  test('keeps applied objects and its address over an outage', async () => {
    await api.apply('apiVersion: v1\nkind: ConfigMap\nmetadata: { name: kept, namespace: default }\ndata: { a: one }\n');
    const [before] = [api.pids['kube-apiserver']];
    await api.stopApiServer();
    assert.equal(api.pids['kube-apiserver'], undefined);
    const refused = await api.kubectl(['get', 'configmap', 'kept']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /connection to the server .* was refused/);
    await api.startApiServer();
    assert.notEqual(api.pids['kube-apiserver'], before);
    const { code, stdout } = await api.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}']);
    assert.deepEqual([code, stdout], [0, 'one']);
  });

  test('rejects invalid objects with a message', async () => {
    const nameless = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'Not_a_name', namespace: 'default' } };
    await assert.rejects(api.apply(nameless), /metadata.name: Invalid value: "Not_a_name"/);
  });

  test('allows users and ServiceAccounts only the permissions of their roles', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
    const subjects = [
      { kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
    ];
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'readers', namespace: 'default' } };
    await api.apply([
      { ...rbac, kind: 'Role', rules },
      { ...rbac, kind: 'RoleBinding', subjects, roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'readers' } },
    ]);
    const token = await api.serviceAccountToken('default', 'robot');
    for (const kubeconfig of [api.kubeconfigFor({ user: 'reader' }), api.kubeconfigFor({ token })]) {
      // Authorization uses a cache of rules, which lags a moment.
      await until('the role is effective', async () => (await api.kubectl(['get', 'configmaps'], { kubeconfig })).code === 0);
      const refused = await api.kubectl(['delete', 'configmap', 'kept'], { kubeconfig });
      assert.match(refused.stderr, /cannot delete resource "configmaps" in API group "" in the namespace "default"/);
    }
  });

  test('responds with 410 to a watch from before a compaction after a restart', async () => {
    const { body } = await api.client.call('/api/v1/configmaps');
    const { resourceVersion } = (body as { metadata: { resourceVersion: string } }).metadata;
    for (const value of ['1', '2']) {
      await api.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'changing', namespace: 'default' }, data: { value } });
    }
    await api.stopApiServer();
    assert.ok((await api.compactEtcd()) > Number(resourceVersion));
    await api.startApiServer();
    const events: unknown[] = [];
    const watch = `/api/v1/configmaps?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=2`;
    let status = 429;
    // It responds 429 while it reads objects into its memory.
    await until('it accepts watches', async () => {
      status = await api.client.lines(watch, AbortSignal.timeout(60_000), (event) => events.push(event));
      return status !== 429;
    });
    const code = status === 200 ? (events[0] as { object: { code: number } }).object.code : status;
    assert.equal(code, 410);
  });
});

test('no process of an API server outlives its killed test process', async () => {
  const kit = join(import.meta.dirname, '../kit/kube/api-server.ts');
  const script = `import { startApiServer } from ${JSON.stringify(kit)};
    const api = await startApiServer({ after: () => {} });
    console.log(JSON.stringify({ pids: Object.values(api.pids), dir: api.dir }));
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { pids, dir } = JSON.parse(line) as { pids: number[]; dir: string };
  assert.equal(pids.length, 2);
  assert.ok(pids.every((pid) => existsSync(`/proc/${pid}`)));
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  await until('its processes have ended', () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  await startApiServer({ after });
  // An API server of another file may have begun the removal.
  await until('the next API server deletes its folder', () => !existsSync(dir));
});

describe('A control plane of the kit', () => {
  const get = async (...args: string[]) => (await plane.kubectl(['get', ...args])).stdout;
  /** A process that responds slowly to its probes may have been restarted before. */
  const restartsOf = (pod: string) => statusOf(runner.pod(pod))?.restartCount ?? 0;
  const annotate = (pod: string) => plane.kubectl(['annotate', 'pod', pod, 'test/address=127.0.0.1']);
  const ready = async (name: string) => {
    await plane.apply(mediaPod(name));
    await runner.waitForPod(name, (pod) => pod.status?.phase === 'Running');
    await annotate(name);
    return runner.waitForPod(name);
  };

  test('collects garbage and deletes namespaces', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owner', namespace: 'default' } };
    await plane.apply(owner);
    const uid = await get('configmap', 'owner', '-o', 'jsonpath={.metadata.uid}');
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
    await plane.apply([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owned', namespace: 'default', ownerReferences } },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'passing' } },
    ]);
    await plane.kubectl(['delete', 'configmap', 'owner']);
    await plane.kubectl(['delete', 'namespace', 'passing']);
    // If the garbage collector could not read all kinds at startup, it retries after half a minute.
    await until('the owned object is deleted', async () => (await plane.kubectl(['get', 'configmap', 'owned'])).code === 1, 120_000);
    assert.equal((await plane.kubectl(['get', 'namespace', 'passing'])).code, 1);
  });

  test('a pod is ready with its node, and its files follow the ConfigMap and the annotation', async (t) => {
    await plane.apply(mediaPod('files'));
    await runner.waitForPod('files', (pod) => pod.status?.phase === 'Running');
    assert.equal(isReady(runner.pod('files')), false, 'it has no address yet');
    await annotate('files');
    const { status } = await runner.waitForPod('files');
    const health = () => healthOf(`${status?.podIP}:8080`);
    assert.equal((await health()).config.files[0]?.sha256, sha256(settings(7)));
    const started = performance.now();
    await plane.apply({ ...objects[0], data: { 'settings.yaml': settings(8) } });
    await until('the new file is loaded', async () => (await health()).config.files[0]?.sha256 === sha256(settings(8)));
    t.diagnostic(`a changed ConfigMap is loaded after ${Math.round(performance.now() - started)} ms`);
    const again = performance.now();
    await plane.apply({ ...objects[0], data: { 'settings.yaml': settings(9) } });
    await plane.kubectl(['annotate', 'pod', 'files', 'test/touched=now']);
    await until('the third file is loaded', async () => (await health()).config.files[0]?.sha256 === sha256(settings(9)));
    t.diagnostic(`after an annotation of the pod in ${Math.round(performance.now() - again)} ms`);
    await plane.kubectl(['delete', 'pod', 'files']);
  });

  test('a deleted pod receives SIGTERM and its object is deleted after its end', async () => {
    await ready('ending');
    await plane.kubectl(['patch', 'pod', 'ending', '--type=merge', '-p', '{"metadata":{"finalizers":["test/hold"]}}']);
    const pid = runner.pidOf('ending');
    await plane.kubectl(['delete', 'pod', 'ending', '--wait=false']);
    const { exitCode, reason } = exitOf(await runner.waitForPod('ending', (pod) => statusOf(pod)?.state.terminated !== undefined));
    assert.deepEqual({ exitCode, reason }, { exitCode: 0, reason: 'Completed' });
    assert.equal(existsSync(`/proc/${pid}`), false);
    await plane.kubectl(['patch', 'pod', 'ending', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await until('the object is deleted', async () => (await plane.kubectl(['get', 'pod', 'ending'])).code === 1);
  });

  test('nodes discover each other by DNS, and are reachable through Services and host ports', async () => {
    const [one, other] = await Promise.all([ready('one'), ready('two')]);
    assert.notEqual(one.spec.nodeName, other.spec.nodeName);
    for (const { status } of [one, other]) {
      await until('both are connected', async () => (await healthOf(`${status?.podIP}:8080`)).distribution.nodesInCluster === 2);
    }
    const address = await runner.serviceAddress('default', 'api');
    assert.equal((await healthOf(address)).status, 'UP');
    await plane.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'media', namespace: 'default' },
      spec: {
        type: 'NodePort',
        selector: { app: 'media' },
        externalTrafficPolicy: 'Local',
        ports: [{ name: 'media', port: 30_500, targetPort: 30_500, nodePort: 30_500, protocol: 'TCP' }],
      },
    });
    const host = runner.hosts.find(({ name }) => name === one.spec.nodeName);
    await until('the media port of the host forwards to the pod', () => connects(host?.externalIP ?? '', 30_500));
    await plane.kubectl(['delete', 'service', 'media']);
  });

  test('a PodDisruptionBudget prevents evictions', async () => {
    const metadata = { name: 'both', namespace: 'default' };
    const spec = { minAvailable: 2, selector: { matchLabels: { app: 'media' } } };
    await plane.apply({ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec });
    await until('it has counted', async () => (await get('pdb', 'both', '-o', 'jsonpath={.status.currentHealthy}')) === '2');
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one', namespace: 'default' } };
    const refused = await plane.client.call('/api/v1/namespaces/default/pods/one/eviction', { method: 'POST', body });
    assert.equal(refused.status, 429, JSON.stringify(refused.body));
    await plane.kubectl(['delete', 'pdb', 'both']);
  });

  test('a killed process is restarted in the same pod', async () => {
    const before = runner.pidOf('one');
    const restarts = restartsOf('one');
    runner.killPod('one');
    const pod = await runner.waitForPod('one', (each) => statusOf(each)?.restartCount === restarts + 1 && isReady(each));
    assert.notEqual(runner.pidOf('one'), before);
    assert.equal(statusOf(pod)?.lastState.terminated?.exitCode, 137);
  });

  test('a pod reports a missing Secret and starts when it exists', async () => {
    const env = [{ name: 'SVC_SERVER_API_TOKEN', valueFrom: { secretKeyRef: { name: 'late', key: 'token' } } }];
    await plane.apply(mediaPod('late', {}, { env }));
    const waiting = await runner.waitForPod('late', (pod) => statusOf(pod)?.state.waiting?.reason === 'CreateContainerConfigError');
    assert.equal(statusOf(waiting)?.state.waiting?.message, 'secret "late" not found');
    await plane.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'late', namespace: 'default' },
      stringData: { token: apiToken },
    });
    await runner.waitForPod('late', (pod) => pod.status?.phase === 'Running');
    await plane.kubectl(['delete', 'pod', 'late', '--now']);
  });

  test('pods are scheduled neither to cordoned Kubernetes nodes nor without a bound claim', async () => {
    await plane.kubectl(['cordon', 'host-1', 'host-2']);
    await plane.apply({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'disk', namespace: 'default' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    const volumes = [{ name: 'disk', persistentVolumeClaim: { claimName: 'disk' } }];
    const container = { command: ['sh', '-c', 'echo kept >> /disk/file; sleep 60'], env: [], livenessProbe: null, readinessProbe: null };
    await plane.apply(mediaPod('cordoned', { volumes }, { ...container, volumeMounts: [{ name: 'disk', mountPath: '/disk' }] }));
    const pending = await runner.waitForPod(
      'cordoned',
      (pod) => pod.status?.conditions?.some(({ reason }) => reason === 'Unschedulable') ?? false,
    );
    assert.equal(pending.status?.conditions?.[0]?.message, '0/2 nodes are available: 2 node(s) were unschedulable.');
    await plane.kubectl(['uncordon', 'host-2']);
    assert.equal((await runner.waitForPod('cordoned')).spec.nodeName, 'host-2');
    await until('its claim is bound', async () => /Bound/.test(await get('pvc', 'disk')));
    await plane.kubectl(['uncordon', 'host-1']);
    await plane.kubectl(['delete', 'pod', 'cordoned', '--now']);
  });

  test('a failed Kubernetes node becomes NotReady, and runs its pods again after its restart', async () => {
    const { nodeName = '' } = runner.pod('one').spec;
    const pid = runner.pidOf('one');
    const restarts = restartsOf('one');
    await runner.failHost(nodeName);
    assert.equal(existsSync(`/proc/${pid}`), false);
    await until('Kubernetes detects it', async () => /NotReady/.test(await get('node', nodeName)));
    await until('its pods are not ready', () => !isReady(runner.pod('one')));
    assert.ok(isReady(runner.pod('two')));
    await runner.recoverHost(nodeName);
    await until('it is ready again', async () => / Ready /.test(await get('node', nodeName)));
    await runner.waitForPod('one', (pod) => statusOf(pod)?.restartCount === restarts + 1 && isReady(pod));
  });

  test('pods keep running during an API server outage, and their status is written afterwards', async () => {
    const restarts = restartsOf('two');
    const pid = runner.pidOf('two');
    await plane.stopApiServer();
    runner.killPod('two');
    await until('it has ended', () => runner.pidOf('two') !== pid);
    await plane.startApiServer();
    await runner.waitForPod('two', (pod) => statusOf(pod)?.restartCount === restarts + 1 && isReady(pod));
  });
});

function statusOf(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.[0];
}

function exitOf(pod: Pod): Terminated {
  const exit = statusOf(pod)?.state.terminated;
  assert.ok(exit);
  return exit;
}

type Health = { status: string; config: { files: { sha256: string }[] }; distribution: { nodesInCluster: number } };

async function healthOf(address: string): Promise<Health> {
  const answer = await fetch(`http://${address}/health`, { headers: { authorization: `Bearer ${apiToken}` } });
  return ((await answer.json()) as { data: Health }).data;
}

async function connects(ip: string, port: number): Promise<boolean> {
  const socket = connect(port, ip);
  try {
    await once(socket, 'connect');
    // A forwarder without a target closes the connection immediately.
    return await Promise.race([once(socket, 'close').then(() => false), sleep(300, true)]);
  } finally {
    socket.destroy();
  }
}
