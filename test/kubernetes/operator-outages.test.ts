// Operator during API server outages and constant connection failures: live rooms are not affected.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ClusterFixture, isAvailable, isReady, smallCluster } from '../kit/kube/cluster-fixture.ts';
import { startControlPlane } from '../kit/kube/control-plane.ts';
import { startOperator } from '../kit/kube/operator-process.ts';
import { startPodRunner } from '../kit/kube/pods/pod-runner.ts';
import { type KubeJson, room } from '../kit/kube/read-objects.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { keepDoing } from '../kit/pace.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';

const away = 60_000;

const supervised = { running: true };
// Registered first, so that an operator that ends during cleanup is not restarted.
after(() => {
  supervised.running = false;
});
const server = await startControlPlane({ after });
const runner = await startPodRunner(server);
const proxy = await startTcpProxy({ after }, Number(new URL(server.url).port));
const kubeconfig = server.kubeconfigFor({ server: `https://127.0.0.1:${proxy.port}` });
// An operator that lost its Lease is restarted under its name, like the container of a pod.
const start = () => startOperator({ after }, server, { kubeconfig, env: { OPERATOR_IDENTITY: 'the-pod' } });
const fixture = new ClusterFixture(server, runner, start());
const supervising = (async () => {
  while (supervised.running) {
    await fixture.operator.ended;
    if (supervised.running) fixture.operator = start();
  }
})();
after(async () => {
  await fixture.operator.stop('SIGKILL');
  await supervising;
});
await fixture.operator.says(/started leading/);
await server.apply(smallCluster('media'));
await fixture.waitFor('mediaClusters', 'media', isAvailable);

const incarnationOf = (room: KubeJson) => room.status.incarnation as string;

test('during an API server outage of a minute nothing on the nodes changes, and the operator catches up afterwards', {
  timeout: 240_000,
}, async (t) => {
  const names = ['live', 'ended', 'changed', 'removed'];
  const made = await Promise.all(names.map((name) => fixture.makeRoom(name, { peers: [{ name: 'anna' }] })));
  const api = await fixture.api('media-0');
  const { podIP } = runner.pod('media-0').status ?? {};
  const anna = await PeerSocket.enter(`ws://${podIP}:8080/socket/peer/websocket`, (await fixture.secret('live-peers'))['anna.token'] ?? '');
  assert.ok(anna.welcome.ok);
  const pid = runner.pidOf('media-0');

  await server.stopApiServer();
  assert.equal((await api.delete('/room/ended')).status, 204);
  const check = async () => {
    const { body } = await api.get('/room');
    assert.deepEqual(body.data.map(({ id }: { id: string }) => id).sort(), ['changed', 'live', 'removed']);
  };
  await keepDoing(away, check, 5_000);
  assert.equal(anna.webSocket.readyState, WebSocket.OPEN);
  await server.compactEtcd();
  await server.startApiServer();
  const elapsed = stopwatch();
  await Promise.all([
    server.apply(room('changed', { peers: [{ name: 'anna' }], maxPeers: 7 })),
    server.apply(room('new')),
    fixture.kubectl('delete', 'room', 'removed', '--timeout=60s'),
  ]);
  await fixture.waitFor('rooms', 'new', isReady);
  await fixture.waitFor('rooms', 'changed', isReady);
  await fixture.waitFor('rooms', 'ended', (room) => room.status.phase === 'Finished');
  const took = elapsed();
  t.diagnostic(`caught up ${Math.round(took)} ms after the API server was back`);
  assertPrompt('to catch up', took, { promised: 15_000 });
  const rooms = (await api.get('/room')).body.data as KubeJson[];
  assert.deepEqual(rooms.map(({ id }) => id).sort(), ['changed', 'live', 'new']);
  assert.equal(rooms.find(({ id }) => id === 'changed').config.maxPeers, 7);
  for (const room of made.filter(({ metadata }) => metadata.name === 'live' || metadata.name === 'changed'))
    assert.equal(incarnationOf(await fixture.get('rooms', room.metadata.name)), incarnationOf(room));
  assert.equal(anna.webSocket.readyState, WebSocket.OPEN);
  assert.equal(runner.pidOf('media-0'), pid);
  anna.webSocket.terminate();
});

test('Rooms reach their declared state while every API server connection is cut each second', async () => {
  const cutting = setInterval(() => {
    proxy.cut();
    proxy.restore();
  }, 1_000);
  try {
    for (let round = 0; round < 12; round += 1) {
      await server.apply(room(`shaky-${round}`, { peers: [{ name: 'anna' }] }));
      await fixture.waitFor('rooms', `shaky-${round}`, isReady);
      if (round > 0) await fixture.kubectl('delete', 'room', `shaky-${round - 1}`, '--timeout=60s');
    }
  } finally {
    clearInterval(cutting);
  }
  const { body } = await (await fixture.api('media-0')).get('/room');
  const shaky = body.data.map(({ id }: { id: string }) => id).filter((id: string) => id.startsWith('shaky'));
  assert.deepEqual(shaky, ['shaky-11']);
});
