// What became of a room whose node is gone without a word: how soon the others are believed, and when they are not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { NodeClient } from '../../../../operator/nodes/node-client.ts';
import type { ClusterNode } from '../../../../operator/rooms/cluster-access.ts';
import { type LookOptions, look } from '../../../../operator/rooms/look.ts';
import { readyStatus, uid } from './observed.ts';

async function serve(t: TestContext, pod: string, ready: boolean, answer: RequestListener): Promise<ClusterNode> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { pod, url, ready, terminating: false, lost: false };
}

/** Takes every request in and answers none, as an address where nobody is any more. */
const silent: RequestListener = () => {};

/** Knows no room, and only itself. */
const lonely: RequestListener = ({ url }, response) => {
  if (url !== '/cluster/nodes') response.writeHead(404).end(JSON.stringify({ errors: 'Room r does not exist', code: 'room_not_found' }));
  else response.end(JSON.stringify({ data: [{ name: 'svc@other', address: 'other', version: '1', state: 'accepting', load: null }] }));
};

function looking(nodes: ClusterNode[], toldLost = false): LookOptions {
  const clients = new Map(nodes.map(({ url }) => [url, new NodeClient({ url, token: () => 'token' })]));
  const clientOf = ({ url }: ClusterNode) => clients.get(url) ?? assert.fail(url);
  const link = {
    roomEnd: () => undefined,
    isToldLost: () => toldLost,
    nodes: () => nodes,
    candidates: () => nodes.map((node) => ({ node, client: clientOf(node) })),
    clientOf,
    nodeAt: async () => undefined,
    podOf: () => undefined,
  };
  return { link, cluster: 'c', roomId: 'r', uid, status: { ...readyStatus, node: 'c-0' }, signal: new AbortController().signal };
}

test('a node that is not ready and says nothing holds the look up for a second; then who knows no such room is believed', async (t) => {
  const nodes = [await serve(t, 'c-0', false, silent), await serve(t, 'c-1', true, lonely)];
  const began = performance.now();
  assert.deepEqual(await look(looking(nodes)), { kind: 'absent' });
  const took = performance.now() - began;
  assert.ok(took >= 950 && took < 4_000, `it took ${took} ms`);
});

test('of one that is ready nobody is believed who is not connected to it, however long it says nothing', async (t) => {
  const nodes = [await serve(t, 'c-0', true, silent), await serve(t, 'c-1', true, lonely)];
  assert.equal((await look(looking(nodes))).kind, 'unknown');
});

test('of one that other nodes have lost nobody is believed sooner, but it is not waited for as long', async (t) => {
  const nodes = [await serve(t, 'c-0', true, silent), await serve(t, 'c-1', true, lonely)];
  const began = performance.now();
  assert.equal((await look(looking(nodes, true))).kind, 'unknown');
  const took = performance.now() - began;
  assert.ok(took >= 950 && took < 4_000, `it took ${took} ms`);
});
