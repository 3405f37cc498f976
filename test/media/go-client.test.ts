// Programs in other languages: a Go client written from docs/reference/protocol.md alone, and the documented signers of access tokens.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { goAccessToken, goClient } from '../../tools/test-runner/go-programs.mjs';
import { accessKey, accessKeysText } from '../kit/access-tokens.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { OtlpReceiver } from '../kit/otlp-receiver.ts';
import { runCommand } from '../kit/processes/command.ts';
import { docCode } from '../kit/processes/doc-commands.ts';
import { examples } from '../kit/processes/example.ts';
import { type StartedNode, startNode } from '../kit/processes/start-node.ts';

test('two Go clients receive the audio and video of each other and leave', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const words = [randomBytes(20).toString('hex'), randomBytes(20).toString('hex')] as const;
  const ada = await startClient(t, node, api, words[0]);
  // The second client gets existing tracks when it joins, the first gets later tracks.
  const bob = await startClient(t, node, api, words[1]);
  for (const kind of ['audio', 'video']) {
    await ada.says(`received ${kind} of ${bob.peerId}: ${words[1]}`);
    await bob.says(`received ${kind} of ${ada.peerId}: ${words[0]}`);
  }
  assert.equal(await ada.leave(), 0, ada.lines.join('\n'));
  assert.equal(await bob.leave(), 0, bob.lines.join('\n'));
  // Nothing else arrived: each track had constant content.
  for (const { lines } of [ada, bob]) assert.equal(lines.filter((line) => line.startsWith('received')).length, 2, lines.join('\n'));
  const { body } = await api.get('/room/r');
  assert.doesNotMatch(JSON.stringify(body), /"status":"connected"/);
});

test('a Go client that waits receives and sends nothing until it is admitted, and then both', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const ada = await startClient(t, node, api, 'ada');
  assert.equal((await api.patch('/room/r', { admission: 'manual' })).status, 200);
  const bob = await launchClient(t, node, api, 'bob');
  const statusOf = async (peerId: string) => (await api.get(`/room/r/peer/${peerId}`)).body.data.peer.status;
  await eventually('the client waits', async () => (await statusOf(bob.peerId)) === 'waiting');
  assert.deepEqual([bob.lines, ada.lines.filter((line) => line.includes('bob'))], [[], []]);
  assert.equal((await api.post(`/room/r/peer/${bob.peerId}/admit`)).status, 204);
  await bob.says(`joined as ${bob.peerId}`);
  for (const kind of ['audio', 'video']) {
    await bob.says(`received ${kind} of ${ada.peerId}: ada`);
    await ada.says(`received ${kind} of ${bob.peerId}: bob`);
  }
});

test('one trace contains POST /room, its webhook, the join of a Go client and the first frame in each direction', async (t) => {
  const collector = await OtlpReceiver.start(t);
  const receiver = await startReceiver(t);
  const node = await startNode(t, {
    SVC_TRACES_ENDPOINT: collector.url,
    SVC_TRACES_SAMPLE_PERCENT: '0',
    SVC_WEBHOOK_URLS: receiver.url,
    SVC_ALLOW_PRIVATE_ADDRESSES: 'true',
  });
  const traceId = randomBytes(16).toString('hex');
  const headers = { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` };
  assert.equal((await node.api.request('POST', '/room', { json: { roomId: 'r' }, headers })).status, 201);
  await Promise.all([startClient(t, node, node.api, 'one'), startClient(t, node, node.api, 'two')]);
  const names = ['POST /room', 'join peer', 'deliver webhook', 'first audio frame from peer', 'first video frame from peer'] as const;
  const [created, join, webhook, ...sent] = await collector.trace(traceId, names);
  const received = await collector.trace(traceId, ['first audio frame to peer', 'first video frame to peer']);
  assert.equal(created.parentSpanId, '1'.repeat(16));
  assert.deepEqual([join.parentSpanId, webhook.parentSpanId], [created.spanId, created.spanId]);
  const joins = collector.of(traceId).filter(({ name }) => name === 'join peer');
  for (const { parentSpanId } of [...sent, ...received]) assert.ok(joins.some(({ spanId }) => spanId === parentSpanId));
  const { 'http.route': route, 'http.response.status_code': status } = created.attributes;
  assert.deepEqual([created.service, route, status], ['mediarooms', '/room', 201]);
  // The receiver can continue the trace.
  const roomCreated = receiver.received.find(({ event }) => event.type === 'RoomCreated');
  assert.equal(roomCreated?.headers.traceparent, `00-${traceId}-${webhook.spanId}-01`);
  // POST /room/r/peer had no traceparent and was not sampled.
  assert.deepEqual([...new Set(collector.spans.map((span) => span.traceId))], [traceId]);
  assert.doesNotMatch(collector.received, new RegExp(node.token));
});

test('the Go client has at most 400 lines', () => {
  const folder = join(examples, 'go-client');
  const sources = readdirSync(folder).filter((name) => name.endsWith('.go'));
  const lines = sources.reduce((sum, name) => sum + readFileSync(join(folder, name), 'utf8').split('\n').length - 1, 0);
  assert.ok(sources.length > 0 && lines <= 400, `${lines} lines`);
});

test('access tokens that the documented code in Go and Python signs create a room and join it', async (t) => {
  const page = 'docs/how-to/access-tokens.md';
  // The program that runs is the one of the page.
  const go = readFileSync(join(examples, 'go-access-token/main.go'), 'utf8');
  assert.ok(go.includes(docCode(page, 'go').replace(/^(?=.)/gm, '\t')), go);
  const python = `${docCode(page, 'python')}\nprint(token)`;
  const node = await startNode(t, { SVC_ACCESS_KEYS: accessKeysText });
  const env = { ...process.env, ACCESS_SECRET: accessKey.secret };
  // Debian installs PyJWT for its own Python.
  for (const signer of [[goAccessToken], ['/usr/bin/python3', '-c', python]]) {
    const { stdout } = await runCommand(signer, { env });
    const socket = await PeerSocket.open(node.peerSocketUrl);
    t.after(() => socket.cut());
    const { ok, data, error } = await socket.request('authenticate', { accessToken: stdout.trim() });
    assert.deepEqual([ok, data?.roomId, data?.peerId], [true, 'lesson', 'ada'], JSON.stringify(error));
  }
  const [ada] = (await node.api.get('/room/lesson')).body.data.peers;
  assert.deepEqual([ada.status, ada.metadata], ['connected', { name: 'Ada' }]);
});

async function startClient(t: TestContext, node: StartedNode, api: ApiClient, say: string) {
  const client = await launchClient(t, node, api, say);
  await client.says(`joined as ${client.peerId}`);
  return client;
}

async function launchClient(t: TestContext, node: StartedNode, api: ApiClient, say: string) {
  const { body } = await api.post('/room/r/peer', { type: 'webrtc' });
  const { peer, token } = (body as { data: { peer: { id: string }; token: string } }).data;
  const child = spawn(goClient, ['-url', node.peerSocketUrl, '-say', say], {
    env: { ...process.env, PEER_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const looking = new Set<() => void>();
  const check = () => {
    for (const each of looking) each();
  };
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      check();
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    check();
    return code as number | null;
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const says = (line: string) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (!lines.includes(line) && child.exitCode === null && child.signalCode === null) return;
        looking.delete(check);
        if (lines.includes(line)) resolve();
        else reject(new Error(`The client ended without "${line}":\n${lines.join('\n')}`));
      };
      looking.add(check);
      check();
    });
  const leave = () => {
    child.kill('SIGINT');
    return ended;
  };
  return { peerId: peer.id, lines, says, leave };
}
