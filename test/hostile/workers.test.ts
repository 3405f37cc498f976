// Media workers that hang or die: affected rooms. The tests stop and kill them by signal.
import assert from 'node:assert/strict';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { attack } from './attack.ts';
import { attacks } from './workers.attacks.ts';

/** Five times the promised time. */
const timeoutOptions = { within: 40_000 };

attack(attacks.hangingWorker, async (t) => {
  const node = await startNodeProcess(t, { SVC_WEBRTC_WORKERS: '2' });
  const { api } = node;
  await made(api, 'attacked');
  await made(api, 'healthy');
  const healthy = await join(node, 'healthy');
  const other = await pidOf(node, 1);
  process.kill(await pidOf(node, 0), 'SIGSTOP');
  await eventually('the end of the room', async () => (await api.get('/room/attacked')).status === 404, timeoutOptions);
  assert.ok(node.output().includes('"reason":"media worker hung"'));
  await made(api, 'attacked');
  assert.ok((await healthy.request('getStats')).ok);
  assert.equal(await pidOf(node, 1), other);
});

attack(attacks.killedAgain, async (t) => {
  const node = await startNodeProcess(t, { SVC_WEBRTC_WORKERS: '1' });
  const { api } = node;
  for (let death = 0; death < 2; death += 1) {
    await made(api, 'attacked');
    process.kill(await pidOf(node, 0), 'SIGKILL');
    await eventually('the end of the room', async () => (await api.get('/room/attacked')).status === 404, timeoutOptions);
  }
  await made(api, 'healthy');
  const healthy = await join(node, 'healthy');
  const spared = await pidOf(node, 0);
  await made(api, 'attacked');
  process.kill(await pidOf(node, 1), 'SIGKILL');
  await eventually('the end of the room', async () => (await api.get('/room/attacked')).status === 404, timeoutOptions);
  assert.ok((await healthy.request('getStats')).ok);
  assert.equal(await pidOf(node, 0), spared);
});

/** Creates the room as soon as a worker is available. */
async function made(api: ApiClient, roomId: string): Promise<void> {
  await eventually(`room ${roomId}`, async () => {
    const { status } = await api.post('/room', { roomId });
    assert.ok(status === 201 || status === 503, `${status}`);
    return status === 201;
  });
}

async function join({ api, peerSocketUrl }: NodeProcess, roomId: string): Promise<PeerSocket> {
  const { token } = (await api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId: 'p' })).body.data;
  const peer = await PeerSocket.enter(peerSocketUrl, token);
  assert.ok((await peer.request('createTransport', { direction: 'send' })).ok);
  return peer;
}

/** Process id of the listening worker, from the log of the node. */
async function pidOf(node: NodeProcess, worker: number): Promise<number> {
  let pid = 0;
  await eventually(`worker ${worker}`, async () => {
    const listens = (line: string) => line.includes('media worker listening') && line.includes(`"worker":${worker},`);
    pid = JSON.parse(node.output().split('\n').findLast(listens) ?? '{}').pid ?? 0;
    return pid > 0 && isAlive(pid);
  });
  return pid;
}
