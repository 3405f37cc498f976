// Secrets: two nodes with log level debug get valid and invalid requests; no log line and no error contains a secret.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Environment } from '../../node/env.ts';
import { SecretLeakScanner } from '../../tools/test-runner/secret-leak-scan.mjs';
import { type ApiAnswer, apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { type NodeProcess, runNodeToEnd, startNodeProcess } from '../kit/processes/node-process.ts';
import { tempFolder } from '../kit/temp-folder.ts';

/** Words that cannot occur by chance. */
const word = (name: string) => `${name}-${randomBytes(12).toString('hex')}`;

const secrets: Record<string, string> = {
  'an API token': word('api'),
  'an older API token': word('older'),
  'a token of a file': word('file'),
  'a secret key': word('key'),
  'an older secret key': word('oldkey'),
  'the cookie': word('cookie'),
  'the id of an S3 key': word('s3id'),
  'an S3 key': word('s3key'),
  'the secret of webhooks': `whsec_${randomBytes(32).toString('base64')}`,
  'the user of a webhook URL': word('user'),
  'the query of a webhook URL': word('query'),
  'the query of the webhook URL of a room': word('roomquery'),
  'a TURN credential': word('turn'),
};
const secret = (name: string): string => {
  const value = secrets[name];
  assert.ok(value);
  return value;
};

/** Messages about the secrets in a text, including those created later. */
function foundIn(text: string): string[] {
  const search = new SecretLeakScanner(Object.entries(secrets).map(([kind, value]) => ({ kind, value })));
  search.scan(text);
  return search.found();
}

function environment(webhooks: string): Environment {
  const [user, query] = [secret('the user of a webhook URL'), secret('the query of a webhook URL')];
  return {
    SVC_LOG_LEVEL: 'debug',
    SVC_SERVER_API_TOKEN: `${secret('an API token')} ${secret('an older API token')}`,
    SVC_SECRET_KEY_BASE: `${secret('a secret key')} ${secret('an older secret key')}`,
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_COOKIE: secret('the cookie'),
    SVC_S3_BUCKET: 'bucket',
    SVC_S3_ACCESS_KEY_ID: secret('the id of an S3 key'),
    SVC_S3_SECRET_ACCESS_KEY: secret('an S3 key'),
    SVC_WEBHOOK_URLS: `${webhooks.replace('://', `://${user}:${user}@`)}?key=${query} http://127.0.0.1:1/?key=${query}`,
    SVC_WEBHOOK_SECRET: secret('the secret of webhooks'),
    SVC_ICE_SERVERS: JSON.stringify([{ urls: 'turn:turn.test', username: 'u', credential: secret('a TURN credential') }]),
  };
}

async function startPair(t: TestContext): Promise<{ nodes: NodeProcess[]; file: string; webhookUrl: string }> {
  const folder = tempFolder(t);
  const file = join(folder, 'settings.yaml');
  await writeFile(file, `iceServers: [{ urls: "turn:turn.test", username: u, credential: ${secret('a TURN credential')} }]\n`);
  const receiver = await startReceiver(t, reject(500));
  const names = ['one', 'two'].map((name) => `${name}${process.pid}@localhost`);
  const start = (name: string | undefined, structured: boolean) =>
    startNodeProcess(t, {
      ...environment(receiver.url),
      SVC_STRUCTURED_LOGGING: String(structured),
      SVC_DIST_NODE_NAME: name,
      SVC_DIST_NODES: names[0],
      SVC_CONFIG_FILES: file,
    });
  // One after the other: the second uses the EPMD of the first one.
  const first = await start(names[0], true);
  const nodes = [first, await start(names[1], false)];
  return { nodes, file, webhookUrl: `${receiver.url}?key=${secret('the query of the webhook URL of a room')}` };
}

/** All rejected REST requests. */
async function askBadly(node: NodeProcess): Promise<string[]> {
  const token = secret('an API token');
  const api = apiClient(node.url, token);
  const as = (authorization: string) => api.request('GET', '/room', { headers: { authorization } });
  const answers: ApiAnswer[] = [
    await as(`Basic ${token}`),
    await as(`Bearer ${token} ${token}`),
    await as(`Bearer ${token}x`),
    await as(''),
    await api.get(`/nothing?token=${token}`),
    await api.get('/room/none'),
    await api.request('POST', '/room', { text: '{"roomId": ', headers: { 'content-type': 'application/json' } }),
    await api.post('/room', { webhookUrl: 7 }),
    await api.post('/room', { maxPeers: 'many' }),
    await api.request('POST', '/room', { json: {}, headers: { cookie: `token=${token}`, 'x-request-id': 'x y' } }),
    await apiClient(node.url).get(`/console/session?token=${token}`),
  ];
  return answers.filter(({ status }) => status >= 400).map(({ body }) => JSON.stringify(body));
}

/** All rejected websocket requests, with the token of the peer. */
async function knockBadly(node: NodeProcess, peerToken: string): Promise<string[]> {
  const base = node.url.replace('http', 'ws');
  const token = secret('an API token');
  const texts: string[] = [];
  for (const [path, frame] of [
    ['peer', { id: 1, method: 'authenticate', data: { token: [peerToken] } }],
    ['peer', { id: 1, method: 'authenticate', data: { token: `${peerToken}x` } }],
    ['peer', { id: 1, method: 'authenticate', data: { token: peerToken, resume: 7 } }],
    ['peer', { id: 1, method: 'join', data: { token: peerToken } }],
    ['peer', `{"id":1,"method":"authenticate","data":{"token":"${peerToken}"`],
    ['server', { id: 1, method: 'authenticate', data: { token: [token] } }],
    ['server', { id: 1, method: 'authenticate', data: { token: `${token}x` } }],
    ['server', { id: 1, method: 'subscribe', data: { token } }],
  ] as const) {
    const socket = await PeerSocket.open(`${base}/socket/${path}/websocket?token=${token}`);
    socket.send(frame);
    const { reason } = await socket.closed;
    texts.push(reason, ...socket.frames.map((each) => JSON.stringify(each)));
  }
  return texts;
}

test('two nodes with log level debug reveal no secret, for valid and invalid requests', { timeout: 120_000 }, async (t) => {
  const { nodes, file, webhookUrl } = await startPair(t);
  const [one, two] = nodes;
  assert.ok(one && two);
  const token = secret('an API token');
  const api = apiClient(two.url, token);
  // The connection is logged shortly before the handshake of the service is complete.
  await eventually('the cluster', async () => {
    const seen = await Promise.all(nodes.map(async ({ url }) => (await apiClient(url, token).get('/health')).body.data.distribution));
    return seen.every(({ nodesInCluster }) => nodesInCluster === 2);
  });
  const refusals: string[] = [];

  for (const roomId of ['a', 'b', 'c', 'd']) assert.equal((await api.post('/room', { roomId, webhookUrl })).status, 201);
  for (const roomId of ['a', 'b', 'c', 'd']) {
    const { body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId: 'p' });
    const renewed = (await api.post(`/room/${roomId}/peer/p/token`)).body.data.token;
    secrets[`the token of ${roomId}`] = body.data.token;
    secrets[`the new token of ${roomId}`] = renewed;
    // At both nodes: one of them proxies the socket.
    for (const [node, given] of [
      [one, body.data.token],
      [two, renewed],
    ] as const) {
      const socket = await PeerSocket.enter(`${node.url.replace('http', 'ws')}/socket/peer/websocket`, given, { takeover: true });
      assert.equal(socket.welcome.ok, true);
      const sessionId = String(socket.welcome.data?.sessionId);
      secrets[`a session of ${roomId} at ${node.port}`] = sessionId;
      await socket.request('createTransport', { direction: 'send' });
      refusals.push(JSON.stringify((await socket.request('publish', { transportId: 'none', kind: 'audio', rtpParameters: {} })).error));
      await socket.cut();
      const resumed = await PeerSocket.enter(`${node.url.replace('http', 'ws')}/socket/peer/websocket`, given, {
        resume: sessionId,
        received: 1,
      });
      resumed.send('no JSON');
      await resumed.closed;
    }
    refusals.push(...(await knockBadly(two, renewed)));
  }
  for (const node of nodes) refusals.push(...(await askBadly(node)));
  await fetch(`${two.url}/hls/a/index.m3u8?token=${token}`, { headers: { authorization: `Bearer ${token}` } });

  // Files with all types of errors: their text is not shown anywhere.
  for (const [text, sign] of [
    [`apiTokens: [{ name: x, token: ${secret('a token of a file')}, scope: everything }]\n`, 'scope'],
    [`secretKeys: { key: ${secret('a token of a file')} }\n`, 'secretKeys'],
    [`webhooks: { secret: ${secret('a token of a file')} }\n`, 'secret'],
    [`apiTokens: [${secret('a token of a file')}: }\n`, 'YAML'],
  ] as const) {
    await writeFile(file, text);
    let error = '';
    const isReported = async () => {
      error = String((await api.get('/health')).body.data.config.error);
      return error.includes(sign);
    };
    await eventually(() => `an error for ${text}: ${error}`, isReported);
    for (const node of nodes) refusals.push(JSON.stringify((await apiClient(node.url, token).get('/health')).body));
  }

  await eventually('webhooks that fail', () => nodes.some(({ output }) => output().includes('webhook failed')));
  for (const node of nodes) node.kill('SIGTERM');
  await Promise.all(nodes.map(({ ended }) => ended));
  for (const node of nodes) {
    assert.match(node.output(), /"level":"debug"|DEBUG/);
    assert.deepEqual(foundIn(node.output()), []);
  }
  assert.ok(refusals.length > 60, `${refusals.length}`);
  for (const text of refusals) assert.deepEqual(foundIn(text), [], text);
});

for (const [name, env] of [
  ['SVC_WEBHOOK_SECRET', { SVC_WEBHOOK_SECRET: secret('an S3 key') }],
  ['SVC_WEBHOOK_URLS', { SVC_WEBHOOK_URLS: `ftp://${secret('the user of a webhook URL')}@host` }],
  ['SVC_ICE_SERVERS', { SVC_ICE_SERVERS: `[{"urls":"turn:x","credential":"${secret('a TURN credential')}"}]` }],
  ['SVC_DIST_COOKIE', { SVC_DIST_COOKIE: `${secret('the cookie')} ${secret('the cookie')}` }],
  ['SVC_S3_BUCKET', { SVC_S3_SECRET_ACCESS_KEY: secret('an S3 key') }],
] as const) {
  test(`a node that fails to start because of ${name} does not show its value`, async () => {
    const { code, output } = await runNodeToEnd({ SVC_LOG_LEVEL: 'debug', ...env });
    assert.equal(code, 1);
    assert.ok(output.includes(name), output);
    assert.deepEqual(foundIn(output), []);
  });
}
