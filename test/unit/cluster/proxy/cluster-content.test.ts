// Cluster content: HLS and recordings of one node, requested at another, over real HTTP in one process.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { proxiedHeader } from '../../../../api/node.ts';
import { ClusterContent, type LocalContentService } from '../../../../node/cluster/proxy/cluster-content.ts';
import { NodeHttpClient } from '../../../../node/cluster/proxy/node-http-client.ts';
import { NodeTokens } from '../../../../node/cluster/proxy/node-tokens.ts';
import type { ProxyTarget } from '../../../../node/cluster/proxy/peer-socket-proxy.ts';
import type { RequestObservation } from '../../../../node/http/middleware/access-log.ts';
import { eventually } from '../../../kit/eventually.ts';
import { makeDispatcher } from '../../../kit/fakes/dispatcher.ts';
import { type FakeLinks, FakeNetwork } from '../../../kit/fakes/fake-links.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { makeContent } from '../../../kit/media/content.ts';
import { listen } from '../../../kit/network/listen.ts';
import { addFiles, makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { readToken, startServer, token } from '../../http/server.ts';

type ContentNode = {
  name: string;
  url: string;
  resources: string;
  links: FakeLinks;
  http: NodeHttpClient;
  tokens: NodeTokens;
  target: ProxyTarget;
  observed: RequestObservation[];
  get: (path: string, headers?: Record<string, string>, method?: string) => Promise<Response>;
};
type ContentCluster = { network: FakeNetwork; nodes: ContentNode[]; owners: Map<string, string>; targets: Map<string, ProxyTarget> };

/** `firstByteDeadline`: first-byte timeout between nodes, for tests about it. A loaded host needs the longer default. */
async function startCluster(t: TestContext, count = 2, firstByteTimeoutMs?: number): Promise<ContentCluster> {
  const network = new FakeNetwork();
  const owners = new Map<string, string>();
  const targets = new Map<string, ProxyTarget>();
  const nodes: ContentNode[] = [];
  for (let index = 0; index < count; index += 1)
    nodes.push(await startNode(t, `svc@${'abc'[index]}`, { network, owners, targets }, firstByteTimeoutMs));
  network.connectAll();
  return { network, nodes, owners, targets };
}

async function startNode(
  t: TestContext,
  name: string,
  { network, owners, targets }: Omit<ContentCluster, 'nodes'>,
  firstByteTimeoutMs?: number,
): Promise<ContentNode> {
  const links = network.join(name);
  const resources = await makeResources(t);
  const tokens = new NodeTokens({ links, secrets: ['the secret of all nodes'], cookie: 'unused' });
  const http = new NodeHttpClient({ log: silentLog(), tokens, ...(firstByteTimeoutMs !== undefined && { firstByteTimeoutMs }) });
  const local: LocalContentService = makeContent(resources);
  const content = new ClusterContent({
    links,
    dispatcher: makeDispatcher({ links }),
    local,
    http,
    log: silentLog(),
    locator: { ownerOf: (roomId) => owners.get(roomId) },
    members: targets,
  });
  const observed: RequestObservation[] = [];
  const { url, server } = await startServer(t, {
    content,
    forwardedBy: (header, path) => tokens.verify(header, path),
    observe: (observation) => observed.push(observation),
  });
  t.after(() => http.close());
  const target: ProxyTarget = { name, internalAddress: server.address, address: 'node.test:5002', tls: false };
  targets.set(name, target);
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } });
  return { name, url, resources, links, http, tokens, target, observed, get };
}

/** Files of a finished recording. */
function reportOf(id: string): Record<string, string> {
  const [startTime, endTime] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z'];
  const report = { id, type: 'recording', roomId: 'room', node: 'n', state: 'finished', startTime, endTime, tracks: [] };
  return { [`recordings/${id}/report.json`]: JSON.stringify(report) };
}

async function startPair(t: TestContext) {
  const cluster = await startCluster(t);
  const [here, there] = cluster.nodes as [ContentNode, ContentNode];
  await addFiles(there.resources, {
    'hls/room/index.m3u8': '#EXTM3U',
    'hls/room/0.m4s': '0123456789',
    ...reportOf('room-1'),
  });
  cluster.owners.set('room', there.name);
  return { ...cluster, here, there };
}

const plain = (response: Response) =>
  Object.fromEntries(
    ['content-type', 'content-length', 'content-range', 'accept-ranges', 'etag'].map((name) => [name, response.headers.get(name)]),
  );

test('a file of the owning node is the same through another node', async (t) => {
  const { here, there } = await startPair(t);
  for (const [path, headers, method, status] of [
    ['/hls/room/index.m3u8', {}, 'GET', 200],
    ['/hls/room/0.m4s', { range: 'bytes=2-4' }, 'GET', 206],
    ['/hls/room/0.m4s', { range: 'bytes=2-4', 'if-range': '"other"' }, 'GET', 200],
    ['/hls/room/0.m4s', { range: 'bytes=77-' }, 'GET', 416],
    ['/hls/room/0.m4s', {}, 'HEAD', 200],
    ['/hls/room/none.m4s', {}, 'GET', 404],
    ['/recording/room-1', {}, 'GET', 200],
    ['/recording/room-1/report.json', {}, 'GET', 200],
    ['/recording/room-1/none', {}, 'GET', 404],
  ] as const) {
    const [one, other] = [await here.get(path, headers, method), await there.get(path, headers, method)];
    assert.equal(one.status, status, path);
    assert.equal(other.status, status, path);
    assert.equal(await one.text(), await other.text());
    assert.deepEqual(plain(one), plain(other));
    assert.equal(one.headers.get('x-content-type-options'), 'nosniff');
  }
  assert.equal(here.http.running, 0);
});

test('a read token is sufficient, and without a token access is denied', async (t) => {
  const { here } = await startPair(t);
  assert.equal((await here.get('/hls/room/0.m4s', { authorization: `Bearer ${readToken}` })).status, 200);
  assert.equal((await here.get('/recording/room-1', { authorization: `Bearer ${readToken}` }, 'DELETE')).status, 403);
  for (const authorization of ['', 'Bearer wrong']) {
    for (const path of ['/hls/room/0.m4s', '/recording', '/recording/room-1', '/recording/room-1/report.json']) {
      assert.equal((await here.get(path, { authorization })).status, 401, path);
    }
  }
});

test('only the token of a node gives access without an API token, and only to its file', async (t) => {
  const { here, there } = await startPair(t);
  const ask = async (header: string, path = '/hls/room/0.m4s', method = 'GET') =>
    (await fetch(`${there.url}${path}`, { method, headers: { [proxiedHeader]: header } })).status;
  const good = here.tokens.sign({ client: '203.0.113.9', path: '/hls/room/0.m4s' });
  assert.equal(await ask(good), 200);
  assert.equal(await ask(good, '/hls/room/index.m3u8'), 401);
  assert.equal(await ask(here.tokens.sign({ client: '203.0.113.9', path: '/room' }), '/room'), 401);
  assert.equal(await ask(here.tokens.sign({ client: '203.0.113.9', path: '/recording/room-1' }), '/recording/room-1', 'DELETE'), 401);
  const links = { self: here.name, cast: () => {} };
  const untrusted = new NodeTokens({ links, secrets: ['another secret'], cookie: '' });
  assert.equal(await ask(untrusted.sign({ client: '203.0.113.9', path: '/hls/room/0.m4s' })), 401);
  assert.equal(await ask('203.0.113.9'), 401);
});

test('a proxied request is rate limited at the first node, not at the owner', async (t) => {
  const network = new FakeNetwork();
  const shared = { network, owners: new Map<string, string>(), targets: new Map<string, ProxyTarget>() };
  const node = await startNode(t, 'svc@a', shared);
  const seen: (string | undefined)[] = [];
  const { url } = await startServer(t, {
    forwardedBy: (header, path) => {
      const claims = node.tokens.verify(header, path);
      seen.push(claims?.client);
      return claims;
    },
    rateLimit: () => 1,
  });
  const path = '/hls/room/0.m4s';
  const ask = async (client: string) =>
    (await fetch(`${url}${path}`, { headers: { [proxiedHeader]: node.tokens.sign({ client, path }) } })).status;
  for (let count = 0; count < 10; count += 1) assert.equal(await ask('203.0.113.1'), 404);
  assert.equal(seen.at(-1), '203.0.113.1');
  const direct: number[] = [];
  for (let count = 0; count < 3; count += 1) direct.push((await fetch(`${url}${path}`)).status);
  assert.ok(direct.includes(429));
});

for (const path of [
  '/hls/room/..%2findex.m3u8',
  '/hls/room/..%2f..%2f..%2fetc%2fpasswd',
  '/hls/room/%2e%2e%2fsecret',
  '/hls/%2e%2e%2f%2e%2e/x',
  '/hls/room/.hidden',
  '/hls/room/a%00b',
  '/hls/room/%5c..%5cx',
  '/hls/room/a%20b',
  '/recording/..%2froom-1/report.json',
  '/recording/.hidden',
  '/recording/%00',
  `/recording/${'x'.repeat(201)}`,
  `/hls/room/${'x'.repeat(256)}`,
]) {
  test(`${path.slice(0, 60)} is rejected as a name`, async (t) => {
    const { here, there } = await startPair(t);
    await addFiles(there.resources, { 'hls/secret': 'secret', secret: 'secret' });
    for (const node of [here, there]) {
      const response = await node.get(path);
      assert.equal(response.status, 400);
      assert.equal(((await response.json()) as { code: string }).code, 'invalid_field');
    }
    assert.equal(there.observed.length, 1);
  });
}

test('a path with dots, sent verbatim, finds nothing', async (t) => {
  const { here } = await startPair(t);
  for (const path of ['/hls/room/../../../../etc/passwd', '/hls/../secret.txt', '/recording/../../secret']) {
    const status = await rawStatus(here.url, path);
    assert.ok(status === 400 || status === 404, `${path} ${status}`);
  }
});

test('a recording is found on any node, and concurrent requests share one search', async (t) => {
  const { nodes } = await startCluster(t, 3);
  const [a, b, c] = nodes as [ContentNode, ContentNode, ContentNode];
  await addFiles(c.resources, { ...reportOf('room-9'), 'hls/old/0.m4s': 'of a room that ended' });
  let calls = 0;
  const { call } = a.links;
  a.links.call = (...args) => {
    calls += 1;
    return call.apply(a.links, args);
  };
  const answers = await Promise.all(Array.from({ length: 10 }, () => a.get('/recording/room-9')));
  assert.deepEqual(fieldsOf(answers, 'status'), Array(10).fill(200));
  assert.ok(calls < 10, `${calls} calls`);
  assert.equal(await (await b.get('/hls/old/0.m4s')).text(), 'of a room that ended');
  assert.equal((await a.get('/recording/room-8')).status, 404);
});

test('a recording is not reported as missing while a node that may have it is unresponsive', { timeout: 20_000 }, async (t) => {
  const { nodes } = await startCluster(t, 3);
  const [a, b, c] = nodes as [ContentNode, ContentNode, ContentNode];
  await addFiles(b.resources, reportOf('room-1'));
  c.links.frozen = true;
  assert.equal((await a.get('/recording/room-1')).status, 200);
  const unknown = await a.get('/recording/room-2');
  assert.deepEqual([unknown.status, unknown.headers.get('retry-after')], [503, '1']);
  assert.deepEqual(await (await a.get('/recording')).json(), { data: ['room-1'], incomplete: ['svc@c'] });
  assert.equal(((await (await a.get('/recording/room-2', {}, 'DELETE')).json()) as { code: string }).code, 'node_unreachable');
});

test('recordings of the whole cluster are listed, and deleted on any node', async (t) => {
  const { nodes } = await startCluster(t, 3);
  const [a, b, c] = nodes as [ContentNode, ContentNode, ContentNode];
  await addFiles(b.resources, { ...reportOf('room-2'), ...reportOf('room-1') });
  await addFiles(c.resources, { ...reportOf('room-3'), ...reportOf('room-1') });
  assert.deepEqual(await (await a.get('/recording')).json(), { data: ['room-1', 'room-2', 'room-3'], incomplete: [] });
  assert.equal((await a.get('/recording/room-1', {}, 'DELETE')).status, 204);
  assert.deepEqual(await (await b.get('/recording')).json(), { data: ['room-2', 'room-3'], incomplete: [] });
  assert.equal((await a.get('/recording/room-1', {}, 'DELETE')).status, 404);
});

test('a lost owner causes 503, and messages between nodes are validated', async (t) => {
  const { here, there, targets, owners } = await startPair(t);
  targets.set(there.name, { ...there.target, internalAddress: '127.0.0.1:1' });
  const lost = await here.get('/hls/room/0.m4s');
  assert.deepEqual([lost.status, ((await lost.json()) as { code: string }).code], [503, 'node_unreachable']);
  targets.delete(there.name);
  assert.equal((await here.get('/hls/room/0.m4s')).status, 503);
  owners.delete('room');
  for (const data of [null, { kind: 'hls', folder: '../x' }, { kind: 'etc', folder: 'room' }]) {
    await assert.rejects(here.links.call(there.name, 'hasContent', data, 1_000));
  }
  await assert.rejects(here.links.call(there.name, 'deleteRecording', '../hls', 1_000));
});

/** A fake node whose responses the test controls. */
async function startStub(t: TestContext, cluster: ContentCluster, listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  const internalAddress = `127.0.0.1:${await listen(t, server)}`;
  cluster.owners.set('room', 'svc@stub');
  cluster.targets.set('svc@stub', { name: 'svc@stub', internalAddress, address: 'stub.test', tls: false });
  return requests;
}

test('an owner that exceeds the first-byte timeout causes 503', async (t) => {
  const cluster = await startCluster(t, 1, 300);
  await startStub(t, cluster, () => {});
  const [node] = cluster.nodes;
  assert.equal((await node?.get('/hls/room/0.m4s'))?.status, 503);
  assert.equal(node?.http.running, 0);
});

test('an owner that rejects the token of this node causes 503, because the client made no error', async (t) => {
  const cluster = await startCluster(t, 1);
  await startStub(t, cluster, (_, response) => response.writeHead(401).end('{}'));
  assert.equal((await cluster.nodes[0]?.get('/hls/room/0.m4s'))?.status, 503);
});

test('if the owner closes during the body, so does the proxy, so that no partial file looks complete', async (t) => {
  const cluster = await startCluster(t, 1);
  await startStub(t, cluster, (_, response) => {
    response.writeHead(200, { 'content-length': 1_000_000 }).write('x'.repeat(1_000));
    setImmediate(() => response.destroy());
  });
  const response = await cluster.nodes[0]?.get('/hls/room/0.m4s');
  await assert.rejects(async () => response?.text());
});

test('if the client disconnects, the request to the owner is aborted', async (t) => {
  const cluster = await startCluster(t, 1);
  const ended = Promise.withResolvers<void>();
  await startStub(t, cluster, (request, response) => {
    request.on('close', () => {});
    response.on('close', () => ended.resolve());
    response.writeHead(200).write('x');
  });
  const [node] = cluster.nodes as [ContentNode];
  const abort = new AbortController();
  const response = await fetch(`${node.url}/hls/room/0.m4s`, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal });
  assert.equal(response.status, 200);
  abort.abort();
  await ended.promise;
  await eventually('no request is running', () => node.http.running === 0);
});

test('only headers of the file are passed on', async (t) => {
  const cluster = await startCluster(t, 1);
  const requests = await startStub(t, cluster, (_, response) =>
    response.writeHead(200, { 'content-type': 'video/mp4', 'set-cookie': 'a=b', 'x-other': '1', 'cache-control': 'public' }).end('x'),
  );
  const response = await cluster.nodes[0]?.get('/hls/room/0.m4s', { cookie: 'c=d', 'x-forwarded-for': '203.0.113.1' });
  await response?.text();
  const given = ['content-type', 'set-cookie', 'x-other', 'cache-control'].map((name) => response?.headers.get(name));
  assert.deepEqual(given, ['video/mp4', null, null, 'no-store']);
  const { host: _, connection: __, 'x-request-id': id, [proxiedHeader]: signed, ...sent } = requests[0]?.headers ?? {};
  assert.deepEqual(sent, {});
  assert.deepEqual([typeof signed, typeof id], ['string', 'string']);
});

test('a large file is proxied completely, also to a slow client', async (t) => {
  const { here, there } = await startPair(t);
  const bytes = Buffer.alloc(32 * 1024 * 1024, 'the quick brown fox ');
  await addFiles(there.resources, { [join('hls', 'room', 'large.mp4')]: bytes });
  const response = await here.get('/hls/room/large.mp4');
  const hash = createHash('sha256');
  let turn = 0;
  for await (const chunk of response.body ?? []) {
    hash.update(chunk as Uint8Array);
    turn += 1;
    if (turn % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.equal(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'));
});

function rawStatus(url: string, path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, headers: { authorization: `Bearer ${token}` }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.end();
  });
}
