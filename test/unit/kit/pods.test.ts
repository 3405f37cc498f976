// Decisions of the kit's kubelet and scheduler: environment, files, hosts and port forwards of pods.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Container } from '../../../operator/kube/kinds.ts';
import { dnsRecords } from '../../kit/kube/network/endpoints.ts';
import { forward } from '../../kit/kube/network/port-forwards.ts';
import { ContainerConfigError, containerEnvironment, expand, resourceOf } from '../../kit/kube/pods/pod-env.ts';
import type { HostObject, Pod, Service } from '../../kit/kube/pods/pod-spec.ts';
import { PathMap, swapContent } from '../../kit/kube/pods/pod-volumes.ts';
import { chooseHost } from '../../kit/kube/pods/scheduler.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

const meta = (name: string) => ({ name, namespace: 'default', uid: name, resourceVersion: '1' });
const pod = (name: string, spec: Partial<Pod['spec']> = {}, container: Partial<Container> = {}): Pod => ({
  metadata: { ...meta(name), labels: { app: 'media' }, annotations: { 'test/address': 'here' } },
  spec: { containers: [{ name: 'node', ...container }], ...spec },
});
const place = { podIP: '127.1.1.1', hostIP: '127.1.1.254' };
const noData = { configMaps: new Map(), secrets: new Map() };

test('$(NAME) expands to an earlier variable, and is kept if none exists', () => {
  const env = { IP: '127.1.1.1' };
  assert.equal(expand('$(IP):8080 $(NO) $$(IP) $IP', env), '127.1.1.1:8080 $(NO) $(IP) $IP');
});

test('variables come from services, whole ConfigMaps and single entries; the last one of a name wins', () => {
  const container: Container = {
    name: 'node',
    envFrom: [{ prefix: 'C_', configMapRef: { name: 'settings' } }, { secretRef: { name: 'none', optional: true } }],
    env: [
      { name: 'LINK', value: 'own' },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'HOST', value: '$(IP):1' },
      { name: 'ADDRESS', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['test/address']" } } },
      { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'none', key: 'x', optional: true } } },
    ],
  };
  const data = { ...noData, configMaps: new Map([['settings', { a: Buffer.from('one') }]]) };
  const env = containerEnvironment(container, pod('a'), place, data, { LINK: 'service', OTHER: 'service' });
  assert.deepEqual(env, { LINK: 'own', OTHER: 'service', C_a: 'one', IP: '127.1.1.1', HOST: '127.1.1.1:1', ADDRESS: 'here' });
});

test('a missing Secret or key prevents the start of a container, with a message', () => {
  const container: Container = { name: 'node', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }] };
  const make = (secrets: ReadonlyMap<string, Record<string, Buffer>>) => () =>
    containerEnvironment(container, pod('a'), place, { ...noData, secrets }, {});
  assert.throws(make(new Map()), new ContainerConfigError('secret "keys" not found'));
  assert.throws(make(new Map([['keys', {}]])), new ContainerConfigError("couldn't find key a in secret default/keys"));
});

test('resource values are whole multiples of their divisor', () => {
  const container: Container = { name: 'node', resources: { limits: { cpu: '1500m', memory: '1Gi' } } };
  assert.equal(resourceOf(container, { resource: 'limits.cpu' }), '2');
  assert.equal(resourceOf(container, { resource: 'limits.cpu', divisor: '1m' }), '1500');
  assert.equal(resourceOf(container, { resource: 'limits.memory', divisor: '1Mi' }), '1024');
});

test('container paths are rewritten to host folders, by whole names and once', () => {
  const paths = new PathMap([
    ['/tmp', '/tmp/pods/a/tmp'],
    ['/etc/node', '/tmp/pods/a/etc'],
    ['/etc/node/keys', '/tmp/pods/a/keys'],
  ]);
  assert.equal(paths.rewrite('/etc/node/a.yaml /etc/node/keys/b.yaml'), '/tmp/pods/a/etc/a.yaml /tmp/pods/a/keys/b.yaml');
  assert.equal(paths.rewrite('--dir=/tmp'), '--dir=/tmp/pods/a/tmp');
  assert.equal(paths.rewrite('/etc/nodes http://h/etc/node'), '/etc/nodes http://h/etc/node');
});

test('a volume is updated by one symlink swap, and old files are removed', (t) => {
  const folder = tempFolder(t);
  swapContent(
    folder,
    new Map([
      ['a', Buffer.from('1')],
      ['sub/b', Buffer.from('2')],
    ] as const),
  );
  const first = readlinkSync(join(folder, '..data'));
  assert.equal(readFileSync(join(folder, 'sub/b'), 'utf8'), '2');
  swapContent(folder, new Map([['a', Buffer.from('3')]]));
  assert.equal(readFileSync(join(folder, 'a'), 'utf8'), '3');
  assert.equal(readlinkSync(join(folder, 'a')), '..data/a');
  assert.equal(existsSync(join(folder, first)), false);
  const version = readlinkSync(join(folder, '..data'));
  assert.deepEqual(readdirSync(folder).sort(), ['..data', version, 'a'].sort());
});

const host = (name: string, spec: HostObject['spec'] = {}, labels = {}): HostObject => ({ metadata: { ...meta(name), labels }, spec });

test('a pod is scheduled on the least loaded host that accepts it', () => {
  const candidates = [
    { host: host('a'), pods: [pod('x')] },
    { host: host('b', { unschedulable: true }), pods: [] },
    { host: host('c', { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] }), pods: [] },
  ];
  assert.deepEqual(chooseHost(pod('p'), candidates), { host: 'a' });
  assert.deepEqual(chooseHost(pod('p', { tolerations: [{ key: 'k', value: 'v' }] }), candidates), { host: 'c' });
  assert.deepEqual(chooseHost(pod('p', { tolerations: [{ operator: 'Exists' }] }), candidates), { host: 'b' });
  assert.deepEqual(chooseHost(pod('p', { nodeSelector: { zone: '1' } }), candidates.slice(0, 1)), {
    reason: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
  });
});

test('two pods with the same host port run on two hosts', () => {
  const ports = [{ containerPort: 30_500, hostPort: 30_500, protocol: 'UDP' }];
  const one = pod('one', {}, { ports });
  const hosts = [
    { host: host('a'), pods: [one] },
    { host: host('b'), pods: [pod('x'), pod('y')] },
  ];
  assert.deepEqual(chooseHost(pod('two', {}, { ports }), hosts), { host: 'b' });
  const other = pod('two', {}, { ports: [{ ...ports[0], containerPort: 30_500, protocol: 'TCP' }] });
  assert.deepEqual(chooseHost(other, hosts), { host: 'a' });
});

test('DNS resolves headless Services to their ready or published pods and their hostnames', () => {
  const service = (spec: Service['spec']): Service => ({
    metadata: meta('nodes'),
    spec: { clusterIP: 'None', selector: { app: 'media' }, ...spec },
  });
  const withStatus = (name: string, ip: string, ready: string): Pod => ({
    ...pod(name, { hostname: name, subdomain: 'nodes' }),
    status: { phase: 'Running', podIP: ip, conditions: [{ type: 'Ready', status: ready }] },
  });
  const pods = [withStatus('a', '127.1.1.1', 'True'), withStatus('b', '127.1.1.2', 'False')];
  const zone = 'nodes.default.svc.cluster.local';
  assert.deepEqual(Object.fromEntries(dnsRecords([service({})], pods)), { [zone]: ['127.1.1.1'], [`a.${zone}`]: ['127.1.1.1'] });
  const all = dnsRecords([service({ publishNotReadyAddresses: true })], pods);
  assert.deepEqual(all.get(zone), ['127.1.1.1', '127.1.1.2']);
  assert.equal(dnsRecords([service({ clusterIP: '10.96.0.1' })], pods).size, 0);
});

test('UDP packets are forwarded in both directions, and to a new target as soon as it exists', async (t) => {
  const targets = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const socket = createSocket('udp4');
      socket.on('message', (message, { port, address }) => socket.send(`${name}: ${message}`, port, address));
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
      t.after(() => socket.close());
      return { ip: '127.0.0.1', port: socket.address().port };
    }),
  );
  let [target] = targets;
  const way = await forward('UDP', '127.0.0.1', 0, () => target);
  t.after(() => way.close());
  const client = createSocket('udp4');
  t.after(() => client.close());
  const ask = async (text: string) => {
    const answered = once(client, 'message', { signal: AbortSignal.timeout(5_000) });
    client.send(text, way.port, '127.0.0.1');
    return String((await answered)[0]);
  };
  assert.equal(await ask('a'), 'one: a');
  assert.equal(await ask('b'), 'one: b');
  target = targets[1];
  assert.equal(await ask('c'), 'two: c');
});
