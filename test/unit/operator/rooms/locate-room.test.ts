// Locating a room whose node does not respond or reports its end: how soon other nodes are trusted, and when not.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { NodeClient } from '../../../../operator/nodes/node-client.ts';
import type { ClusterNode } from '../../../../operator/rooms/cluster-access.ts';
import { type LocateRoomOptions, locateRoom } from '../../../../operator/rooms/locate-room.ts';
import { listen } from '../../../kit/network/listen.ts';
import { readyStatus, uid } from './observed.ts';

async function serve(t: TestContext, pod: string, ready: boolean, answer: RequestListener): Promise<ClusterNode> {
  const url = `http://127.0.0.1:${await listen(t, createServer(answer))}`;
  return { pod, url, signed: true, ready, terminating: false, lost: false };
}

/** Accepts every request and never responds, like the address of a lost node. */
const silent: RequestListener = () => {};

/** Has no room and is connected to no other node. */
const lonely: RequestListener = ({ url }, response) => {
  if (url !== '/cluster/nodes') response.writeHead(404).end(JSON.stringify({ errors: 'Room r does not exist', code: 'room_not_found' }));
  else response.end(JSON.stringify({ data: [{ name: 'svc@other', address: 'other', version: '1', state: 'accepting', load: null }] }));
};

/** @param waited records the timeout of each probe, in milliseconds */
function looking(nodes: ClusterNode[], waited: (number | undefined)[], reportedLost = false): LocateRoomOptions {
  class ProbeClient extends NodeClient {
    override room(roomId: string, signal?: AbortSignal, timeoutMs?: number) {
      waited.push(timeoutMs);
      return super.room(roomId, signal, timeoutMs);
    }
  }
  const clients = new Map(nodes.map(({ url }) => [url, new ProbeClient({ url, signed: true, token: () => 'token' })]));
  const clientOf = ({ url }: ClusterNode) => clients.get(url) ?? assert.fail(url);
  const link = {
    roomEnd: () => undefined,
    isReportedLost: () => reportedLost,
    nodes: () => nodes,
    candidates: () => nodes.map((node) => ({ node, client: clientOf(node) })),
    clientOf,
    nodeAt: async () => undefined,
    podOf: () => undefined,
  };
  const status = { ...readyStatus, node: 'c-0' };
  return { link, cluster: 'c', roomId: 'r', uid, status, deleting: false, signal: new AbortController().signal };
}

for (const { ready, reportedLost, probeTimeoutMs, location } of [
  { ready: false, reportedLost: false, probeTimeoutMs: 1_000, location: 'absent' },
  { ready: false, reportedLost: true, probeTimeoutMs: 300, location: 'absent' },
  // A node is trusted only if it is connected to a node that Kubernetes reports as ready.
  { ready: true, reportedLost: true, probeTimeoutMs: 1_000, location: 'unknown' },
  { ready: true, reportedLost: false, probeTimeoutMs: undefined, location: 'unknown' },
]) {
  const what = `${ready ? 'is ready' : 'is not ready'}, does not respond and ${reportedLost ? 'is' : 'is not'} reported as lost`;
  test(`a node that ${what} is probed with timeout ${probeTimeoutMs ?? 'default'}, and its room counts as ${location}`, async (t) => {
    const nodes = [await serve(t, 'c-0', ready, silent), await serve(t, 'c-1', true, lonely)];
    const waited: (number | undefined)[] = [];
    assert.equal((await locateRoom(looking(nodes, waited, reportedLost))).kind, location);
    assert.deepEqual(waited, [probeTimeoutMs, undefined]);
  });
}

for (const [version, body, reason] of [
  ['0.8', { errors: 'Room r has ended: deleted', code: 'room_ended', reason: 'purged' }, 'purged'],
  ['0.7', { errors: 'Room r has ended: node_stopped', code: 'room_ended' }, 'node_stopped'],
] as const)
  test(`a node of ${version} reports why a room ended`, async (t) => {
    const node = await serve(t, 'c-0', true, (_request, response) => response.writeHead(404).end(JSON.stringify(body)));
    assert.deepEqual(await locateRoom(looking([node], [])), { kind: 'ended', reason });
  });
