// Clients without any token against a node: sockets, token guesses, a hostile page in the browser of a user, forged addresses.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { accessKey, signAccessToken } from '../kit/access-tokens.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { emits, eventually } from '../kit/eventually.ts';
import { obs } from '../kit/media/sdp-offers.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { type NodeProcess, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { tempFolder } from '../kit/temp-folder.ts';
import { attack } from './attack.ts';
import { attacks } from './unauthenticated.attacks.ts';

const peerPath = '/socket/peer/websocket';
const serverPath = '/socket/server/websocket';
const host = '198.51.100.7';

attack(attacks.silentSockets, async (t) => {
  const node = await startNodeProcess(t, { SVC_TRUST_PROXY: '1' });
  const { api } = node;
  await api.post('/room', { roomId: 'room' });
  const socketUrl = (path: string) => node.url.replace('http', 'ws') + path;
  const tokenOf = async (peerId: string) => (await api.post('/room/room/peer', { type: 'webrtc', peerId })).body.data.token;
  const from = (address: string, path = peerPath) => PeerSocket.open(socketUrl(path), { headers: { 'x-forwarded-for': address } });
  // Connects slowly.
  const slow = await from('192.0.2.1');
  const crowds = [peerPath, serverPath].map((path) => new Crowd(t, node, path));
  for (const crowd of crowds) await crowd.grow(1_200);
  for (let count = 0; count < 20; count += 1) {
    for (const crowd of crowds) void crowd.grow(20);
    // Some with the same address as the crowd.
    const person = await from(count % 2 === 0 ? host : `203.0.113.${count}`);
    assert.ok((await person.request('authenticate', { token: await tokenOf(`p${count}`) })).ok);
    const backend = await from(host, serverPath);
    assert.ok((await backend.request('authenticate', { token: apiToken })).ok);
  }
  assert.ok((await slow.request('authenticate', { token: await tokenOf('slow') })).ok);
  for (const crowd of crowds) await crowd.shrunkTo(250);
});

attack(attacks.guessedTokens, async (t) => {
  const node = await startNodeProcess(t);
  const answers = await Promise.all(Array.from({ length: 60 }, (_, count) => apiClient(node.url, `guess-${count}`).get('/room')));
  const refused = answers.filter(({ status }) => status === 429);
  assert.ok(refused.length > 0 && answers.every(({ status }) => status === 401 || status === 429));
  assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0);
  const { api } = node;
  for (let count = 0; count < 25; count += 1) {
    assert.equal((await api.get('/room')).status, 200);
    const socket = await PeerSocket.enter(node.url.replace('http', 'ws') + serverPath, apiToken);
    assert.ok(socket.welcome.ok, JSON.stringify(socket.welcome.error));
    await socket.close();
  }
});

attack(attacks.forgedAccessTokens, async (t) => {
  const file = join(tempFolder(t), 'keys.yaml');
  const { publicKey } = generateKeyPairSync('ed25519');
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const removed = { id: 'removed', secret: 'r'.repeat(40) };
  const write = (...keys: object[]) =>
    writeFile(file, JSON.stringify({ accessKeys: [accessKey, { id: 'edwards', publicKey: pem }, ...keys] }));
  await write(removed);
  const node = await startNodeProcess(t, { SVC_CONFIG_FILES: file });
  const { api } = node;
  const enter = async (accessToken: string) => {
    const socket = await PeerSocket.open(node.peerSocketUrl);
    const answer = await Promise.race([socket.request('authenticate', { accessToken }), socket.closed]);
    await socket.cut();
    return answer;
  };
  const bytes = (text: string) => new TextEncoder().encode(text);
  const create = { room: 'forged', video: { roomCreate: true } };
  const ofRemoved = { ...create, room: 'kept', keyId: removed.id, key: bytes(removed.secret) };
  assert.ok('ok' in (await enter(await signAccessToken(ofRemoved))));
  await write();
  await eventually('the key is removed', async () => {
    const answer = await enter(await signAccessToken(ofRemoved));
    return 'ok' in answer && !answer.ok;
  });
  const [head = '', body = '', signature = ''] = (await signAccessToken(create)).split('.');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const tokens = [
    `${encode({ alg: 'none' })}.${body}.`,
    `${encode({ alg: 'none' })}.${body}.${signature}`,
    `${head}.${encode({ iss: accessKey.id, sub: 'x', exp: 1e12, video: { room: 'forged', roomJoin: true, roomCreate: true } })}.${signature}`,
    `${head}.${body}.${signature.slice(0, -2)}`,
    `${head}.${body}`,
    await signAccessToken({ ...create, key: bytes('k'.repeat(40)) }),
    await signAccessToken({ ...create, keyId: 'edwards', key: bytes(pem) }),
    await signAccessToken({ ...create, now: 0 }),
    await signAccessToken({ ...create, ttl: 1e9 }),
    await signAccessToken({ ...create, claims: { exp: undefined } }),
  ];
  for (const token of tokens) {
    const answer = await enter(token);
    assert.ok('ok' in answer && !answer.ok, token);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/sdp' };
    assert.equal((await fetch(`${node.url}/whip/forged`, { method: 'POST', headers, body: obs })).status, 401, token);
  }
  const tooLarge = await enter(await signAccessToken({ ...create, claims: { metadata: 'm'.repeat(8_000) } }));
  assert.equal('code' in tooLarge && tooLarge.code, 4413);
  assert.equal((await api.get('/room/forged')).status, 404);
  assert.ok('ok' in (await enter(await signAccessToken(create))));
  assert.equal((await api.get('/room/forged')).status, 200);
});

attack(attacks.rebinding, async (t) => {
  const node = await startNodeProcess(t, { SVC_SERVER_API_TOKEN: undefined });
  const session = async (...headers: string[]) => {
    const socket = connect(node.port, '127.0.0.1');
    socket.end(`GET /console/session HTTP/1.1\r\n${[...headers, 'connection: close'].join('\r\n')}\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };
  const own = await session(`host: localhost:${node.port}`);
  const token: string = JSON.parse(own.split('\r\n\r\n')[1] ?? '').token;
  assert.equal((await apiClient(node.url, token).get('/room')).status, 200);
  assert.equal((await apiClient(node.url, 'development').get('/room')).status, 401);
  for (const headers of [
    [`host: rebound.example:${node.port}`],
    [`host: 127.0.0.1:${node.port}`, 'x-forwarded-for: 203.0.113.9'],
    [`host: 127.0.0.1:${node.port}`, 'forwarded: for=203.0.113.9'],
    [`host: 127.0.0.1:${node.port}`, 'origin: https://evil.example', 'sec-fetch-site: cross-site'],
  ]) {
    const answer = await session(...headers);
    assert.ok(!answer.includes(token), headers.join());
    assert.doesNotMatch(answer, /access-control-allow-origin/i);
  }
});

attack(attacks.madeUpAddresses, async (t) => {
  // So low that the token bucket of the test stays empty.
  const node = await startNodeProcess(t, { SVC_TRUST_PROXY: '1', SVC_RATE_LIMIT_API: '1' });
  const statusFor = async (forwarded: string) =>
    (await fetch(`${node.url}/openapi.json`, { headers: { 'x-forwarded-for': forwarded } })).status;
  const statuses = await Promise.all(Array.from({ length: 100 }, (_, count) => statusFor(`10.0.0.${count}, ${host}`)));
  assert.ok(statuses.filter((status) => status === 429).length >= 50, statuses.join());
  assert.equal(await statusFor(`10.0.0.1, 192.0.2.1`), 200);
});

attack(attacks.claimedAddresses, async (t) => {
  const [proxy, pod] = ['127.0.0.2', '127.0.0.3'];
  const node = await startNodeProcess(t, { SVC_TRUST_PROXY: `${proxy}/32`, SVC_RATE_LIMIT_API: '1' });
  const statusesFrom = (localAddress: string) =>
    Promise.all(Array.from({ length: 100 }, (_, count) => statusOf(`${node.url}/openapi.json`, localAddress, `198.51.100.${count}`)));
  const claimed = await statusesFrom(pod);
  assert.ok(claimed.filter((status) => status === 429).length >= 50, claimed.join());
  assert.deepEqual(new Set(await statusesFrom(proxy)), new Set([200]));
});

/** Status of a request from a local address that names another client. */
async function statusOf(url: string, localAddress: string, client: string): Promise<number> {
  const asked = request(url, { localAddress, agent: false, headers: { 'x-forwarded-for': client } });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

/** Open and silent sockets of one host. */
class Crowd {
  readonly #open = new Set<Socket>();
  readonly #node: NodeProcess;
  readonly #path: string;
  readonly #left = new EventEmitter();

  constructor(t: TestContext, node: NodeProcess, path: string) {
    this.#node = node;
    this.#path = path;
    t.after(() => {
      for (const socket of this.#open) socket.destroy();
    });
  }

  /** Resolves when this number of further sockets was accepted. */
  async grow(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#enter()));
  }

  /** Resolves when the node has closed all but this number. */
  async shrunkTo(count: number): Promise<void> {
    await eventually(`all but ${count} are closed`, () => this.#open.size <= count, { wakes: emits(this.#left, 'left') });
  }

  async #enter(): Promise<void> {
    const socket = connect(this.#node.port, '127.0.0.1');
    this.#open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#open.delete(socket);
      this.#left.emit('left');
    });
    const lines = ['host: x', 'connection: upgrade', 'upgrade: websocket', 'sec-websocket-version: 13', `x-forwarded-for: ${host}`];
    socket.write(`GET ${this.#path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.match(first.toString('latin1'), /^HTTP\/1.1 101 /);
  }
}
