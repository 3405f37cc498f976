// Memory benchmark: an idle room and a connected peer, node and worker together.
import { setTimeout as sleep } from 'node:timers/promises';
import { apiClient } from '../kit/answers/api-client.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { benchToken, residentMemory, startPinnedNode } from './processes.ts';
import type { Report } from './report.ts';

const rooms = 5_000;
const peers = 400;

export async function benchMemory(report: Report): Promise<void> {
  const node = await startPinnedNode({ NODE_OPTIONS: '--expose-gc' });
  const api = apiClient(node.url, benchToken);
  // One room and one peer first, so that one-time allocations are not counted.
  await api.post('/room', { roomId: 'first' });
  await api.post('/room/first/peer', { type: 'webrtc' });
  for (let index = 0; index < 500; index += 1) await api.delete(`/room/${(await api.post('/room')).body.data.room.id}`);
  const before = await settledMemory(node.pid);
  for (let index = 0; index < rooms; index += 1) await api.post('/room');
  const withRooms = await settledMemory(node.pid);
  const sockets: PeerSocket[] = [];
  await api.post('/room', { roomId: 'full' });
  const withRoom = await settledMemory(node.pid);
  for (let index = 0; index < peers; index += 1) {
    const { body } = await api.post('/room/full/peer', { type: 'webrtc' });
    const socket = await PeerSocket.enter(`${node.url.replace('http', 'ws')}/socket/peer/websocket`, body.data.token);
    for (const direction of ['send', 'recv']) await socket.request('createTransport', { direction });
    sockets.push(socket);
  }
  const withPeers = await settledMemory(node.pid);
  await Promise.all(sockets.map((socket) => socket.cut()));
  await node.stop();
  report.print('Memory', [
    { what: 'idle room', value: (withRooms - before) / rooms / 1024, unit: 'KiB' },
    { what: 'connected peer with both transports', value: (withPeers - withRoom) / peers / 1024, unit: 'KiB' },
  ]);
}

/** The lowest of several readings, because garbage is collected when the process is idle. */
async function settledMemory(pid: number): Promise<number> {
  let lowest = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < 10; reading += 1) {
    await sleep(200);
    lowest = Math.min(lowest, residentMemory(pid));
  }
  return lowest;
}
