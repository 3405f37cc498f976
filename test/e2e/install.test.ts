// Installation: one `helm install` to first media, and the tasks of a chart user; browsers are outside of the pod network.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeJson, readSecret } from '../kit/kube/read-objects.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { Conversation, people } from './conversation.ts';
import { chart, host, Installed, minValues } from './installed.ts';
import { tell, timing } from './timings.ts';

const installed = await Installed.prepare({ after });
const release = 'rooms';

const pods = () => installed.pods(release);
const indexOf = (pod: KubeJson): number => Number(pod.metadata.labels['mediarooms.dev/index']);
/** Waits until the number of pods matches and each node reports all of them. @returns their indexes */
const agreeOn = (replicas: number) => installed.agreeOn(release, replicas);

test('`helm install` to video and audio in two browsers takes less than a minute', async (t) => {
  const browser = await installed.browser(t);
  const pages = [installed.openPage(browser), installed.openPage(browser)] as const;
  assert.deepEqual(await Promise.all(pages.map(async (page) => (await page).evaluate(() => isSecureContext))), [true, true]);

  const started = performance.now();
  await timing('helm install', () => installed.install(release));
  await installed.available(release);
  const availableAt = performance.now();
  tell('install to MediaCluster Available', availableAt - started);
  const room = await installed.room('class', people);
  tell('Room applied to Ready', performance.now() - availableAt);
  assert.match(room.status.address, /^rooms\.test\/n\/\d+$/);
  const conversation = await Conversation.begin(installed, 'class', pages);
  const took = performance.now() - started;
  tell('install to video and audio in both directions', took);
  // A minute, including images.
  assertPrompt('install to video and audio', took, { promised: 60_000 });
  const ports = (await pods()).flatMap(({ spec }) => spec.containers[0].ports.map((port: KubeJson) => port.containerPort));
  const candidates = await conversation.anna.page.evaluate(async () => {
    const reports = await Promise.all(kit.connections.map((connection) => connection.getStats()));
    return reports.flatMap((report) => [...report.values()].filter(({ type }) => type === 'remote-candidate'));
  });
  const hosts = installed.cluster.nodes.map(({ address }) => address);
  assert.ok(candidates.length > 0);
  assert.ok(candidates.every(({ address, port }) => hosts.includes(address) && ports.includes(port)));
});

test('REST, console and every room are reachable through the Ingress at any pod, and so is each svc_address', async () => {
  await agreeOn(2);
  const [one, other] = await Promise.all(['one', 'other'].map((roomId) => installed.rest(release, 'POST', '/room', { roomId })));
  for (const made of [one, other]) assert.equal(made?.status, 201);
  const addresses = [one, other].map((made) => made?.body.data.svc_address);
  for (const [index, roomId] of ['one', 'other'].entries()) {
    const through = [...Array(6).fill(''), '/n/0', '/n/1'];
    const found = await Promise.all(through.map((path) => installed.rest(release, 'GET', `${path}/room/${roomId}`)));
    assert.deepEqual(
      found.map(({ status, body }) => [status, body.data.id]),
      through.map(() => [200, roomId]),
    );
    assert.equal((await installed.rest(release, 'GET', `${String(addresses[index]).slice(host.length)}/health`)).status, 200);
  }
  const page = await installed.ask(`https://${host}/`);
  assert.equal(page.status, 200);
  assert.match(page.body, /<title>/);
  assert.equal((await installed.ask(`https://${host}/room`)).status, 401);
  for (const roomId of ['one', 'other']) assert.equal((await installed.rest(release, 'DELETE', `/room/${roomId}`)).status, 204);
});

test('`helm test` passes: room, peer, websocket and media address', async () => {
  const said = await timing('helm test', () => installed.helm('test', release, '--timeout=120s'));
  assert.match(said, /Phase:\s+Succeeded/);
});

test('pods on two Kubernetes nodes discover each other by DNS, also after scaling and a killed pod, without affecting live rooms', async (t) => {
  await installed.apply({ apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata: { name: 'class' }, spec: people });
  const conversation = await Conversation.start(t, installed, 'lasting');
  const { node } = (await installed.get('room', 'lasting')).status;
  const scale = (replicas: number) => installed.kubectl('scale', `mediacluster/${release}`, `--replicas=${replicas}`);

  await scale(3);
  await timing('scaled from 2 to 3, all agree', () => agreeOn(3));
  assert.equal(new Set((await pods()).map(({ spec }) => spec.nodeName)).size, 2);
  await scale(4);
  await timing('scaled from 3 to 4, all agree', () => agreeOn(4));

  const victim = (await pods()).find(({ metadata }) => metadata.name !== node);
  await installed.kubectl('delete', 'pod', victim.metadata.name, '--grace-period=0', '--force');
  await timing('a killed pod replaced, all agree', () =>
    installed.cluster.until('another pod exists', async () => {
      const now = await pods();
      return now.length === 4 && now.every(({ metadata }) => metadata.uid !== victim.metadata.uid) && agreeOn(4);
    }),
  );
  await scale(2);
  const left = await timing('scaled from 4 to 2, all agree', () => agreeOn(2));
  assert.ok(left.some((index) => node === `${release}-${index}`));
  // The websocket may have passed through a removed pod; its session continues through another pod.
  await conversation.assertUndisturbed(['reconnecting', 'joined']);
  tell('longest pause between frames meanwhile', await conversation.maxGapMs());
});

test('a configuration change is effective on all nodes within 10 s, without a restart and without affecting live media', async (t) => {
  const conversation = await Conversation.start(t, installed, 'hot');
  const before = await pods();
  const origin = 'https://only.test';
  const allowed = async (index: number) =>
    /access-control-allow-origin: (\S*)/i.exec(
      (await installed.ask(`https://${host}/n/${index}/health`, { headers: [`origin: ${origin}`] })).head,
    )?.[1];
  const started = performance.now();
  await installed.kubectl(
    'patch',
    'mediacluster',
    release,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { config: { corsOrigins: [origin] } } }),
  );
  await installed.cluster.until('it is effective on all nodes', async () =>
    (await Promise.all(before.map((pod) => allowed(indexOf(pod))))).every((each) => each === origin),
  );
  const took = performance.now() - started;
  tell('kubectl patch to effective on all nodes', took);
  assertPrompt('a patch to be effective', took, { promised: 10_000 });
  const uids = (all: KubeJson[]) => all.map(({ metadata, status }) => [metadata.uid, status.containerStatuses[0].restartCount]).sort();
  assert.deepEqual(uids(await pods()), uids(before));
  await conversation.assertUndisturbed();
});

test('`helm upgrade` and `helm rollback` of the operator keep live media, pods and Secrets', async (t) => {
  const conversation = await Conversation.start(t, installed, 'upgrade');
  const kept = async () => [
    await readSecret(installed.cluster.server, `${release}-api-tokens`, installed.namespace),
    (await pods()).map(({ metadata }) => metadata.uid).sort(),
  ];
  const before = await kept();
  const settled = () => installed.kubectl('rollout', 'status', `deployment/${release}-operator`, '--timeout=60s');
  await installed.helm('upgrade', release, chart, ...minValues, '--set', 'operator.logLevel=debug');
  await settled();
  await timing('operator upgraded to a new Room Ready', () => installed.room('upgraded'));
  await installed.helm('rollback', release, '1');
  await settled();
  await installed.room('rolled-back');
  assert.deepEqual(await kept(), before);
  await conversation.assertUndisturbed();
});

test('a process with the user id of a node can read neither environment nor memory of its processes', async () => {
  const [pod] = await pods();
  const script =
    'for each in /proc/[0-9]*; do echo "$(cat $each/comm) $(cat $each/environ 2>&1 >/dev/null | grep -c denied) $(test -r $each/mem; echo $?)"; done';
  const lines = (await installed.kubectl('exec', pod.metadata.name, '--', 'sh', '-c', script)).split('\n');
  for (const name of ['tini', 'MainThread', 'mediasoup-worker'])
    assert.ok(lines.includes(`${name.slice(0, 15)} 1 1`), `${name}: ${lines.join('; ')}`);
});

test('operator and idle nodes stay within their memory limits', async () => {
  // After a rollout the previous operator may still be terminating.
  const items = (await installed.get('pods', '-l', 'app.kubernetes.io/name=mediarooms')).items.filter(
    ({ metadata }: KubeJson) => metadata.deletionTimestamp === undefined,
  );
  const check = async (what: string, component: string, most: number) => {
    const { metadata, spec } = items.find(({ metadata: { labels } }: KubeJson) => labels['app.kubernetes.io/component'] === component);
    const host = installed.cluster.node(spec.nodeName);
    const before = host.podUsage(metadata.uid);
    await sleep(10_000);
    const now = host.podUsage(metadata.uid);
    const megabytes = now.memoryBytes / 1e6;
    tell(`memory of ${what}`, megabytes, 'MB');
    tell(`CPU of ${what}`, (now.cpuMs - before.cpuMs) / 10, 'mcores');
    assert.ok(megabytes > 10 && megabytes < most, `${what}: ${megabytes} MB`);
  };
  await Promise.all([check('operator', 'operator', 250), check('idle node', 'node', 400)]);
});

test('a second installation in another namespace works with default values and Pod Security "restricted"', async (t) => {
  const conversation = await Conversation.start(t, installed, 'second');
  const kubectl = (...args: string[]) => installed.cluster.kubectl('-n', 'other', ...args);
  await installed.cluster.kubectl('create', 'namespace', 'other');
  await installed.cluster.kubectl('label', 'namespace', 'other', 'pod-security.kubernetes.io/enforce=restricted');
  const started = performance.now();
  await installed.cluster.helm('-n', 'other', 'install', release, chart);
  await kubectl('wait', '--for=condition=Available', `mediacluster/${release}`, '--timeout=120s');
  tell('second install to MediaCluster Available', performance.now() - started);
  await installed.apply({ apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata: { name: 'there', namespace: 'other' }, spec: {} });
  await kubectl('wait', '--for=condition=Ready', 'room/there', '--timeout=60s');
  await installed.cluster.helm('-n', 'other', 'uninstall', release);
  // Rooms and MediaClusters stay, and block nothing.
  assert.match(await kubectl('get', 'rooms,mediaclusters,pods', '-o', 'name'), /room\.mediarooms\.dev\/there\n/);
  // If pods do not end within five seconds, Kubernetes returns to the namespace after half their grace period.
  await kubectl('delete', 'pods', '--all', '--timeout=60s');
  await installed.cluster.kubectl('delete', 'namespace', 'other', '--timeout=60s');
  assert.equal((await installed.rest(release, 'GET', '/health')).status, 200);
  await conversation.assertUndisturbed();
});

test('`helm uninstall` with deleteResources and deleteClaims leaves no object, no finalizer and no process, and keeps the CRDs', async () => {
  const deletesAll = 'uninstall.deleteResources=true,uninstall.deleteClaims=true';
  await installed.helm('upgrade', release, chart, '--reuse-values', '--set', deletesAll);
  await timing('helm uninstall with Rooms', () => installed.helm('uninstall', release, '--timeout=180s'));
  const kinds =
    'pods,services,endpointslices,configmaps,secrets,serviceaccounts,persistentvolumeclaims,poddisruptionbudgets,networkpolicies,ingresses,roles,rolebindings,deployments,replicasets,jobs,rooms,mediaclusters';
  const usual = ['configmap/kube-root-ca.crt', 'secret/rooms-tls', 'serviceaccount/default'];
  await installed.cluster.until(
    'nothing is left',
    async () => {
      const left = (await installed.kubectl('get', kinds, '-o', 'name')).trim().split('\n').sort();
      assert.deepEqual(left, usual);
      return true;
    },
    60_000,
  );
  const everywhere = await installed.cluster.kubectl('get', 'clusterroles,clusterrolebindings,priorityclasses', '-o', 'name');
  assert.doesNotMatch(everywhere, /mediarooms|rooms-operator/);
  assert.match(await installed.cluster.kubectl('get', 'crds', '-o', 'name'), /rooms\.mediarooms\.dev/);
});
