// Request context: one request id in the log of every node that handles a request, and in no later lines; one trace over all of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { OtlpReceiver } from '../kit/otlp-receiver.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { addFiles, makeResources } from '../kit/processes/resources-folder.ts';
import { recordedLog } from '../kit/recorded-log.ts';

test('the owning node logs the request id of the other node, but not in later lines of the room', async (t) => {
  const [here, there] = [recordedLog(), recordedLog()];
  const resources = await makeResources(t);
  const pair = await startNodePair(t, { logs: { owner: there.log, wrong: here.log }, owner: { SVC_RESOURCES_BASE_PATH: resources } });
  const drained = await pair.api.post(`/cluster/nodes/${pair.nonOwner.node.name}/drain`, { deadline: 600 });
  assert.equal(drained.status, 202);
  const ask = (method: string, path: string, id: string, json?: object) =>
    pair.api.request(method, path, { headers: { 'x-request-id': id }, ...(json && { json }) });
  const lineOf = (lines: typeof there.lines, msg: string) => lines.find((line) => line.msg === msg);

  const made = await ask('POST', '/room', 'made-it', { roomId: 'r', peerlessPurgeTimeout: 3600 });
  assert.deepEqual([made.status, made.headers.get('x-request-id')], [201, 'made-it']);
  assert.equal(pair.owner.node.parts.rooms.size, 1);
  assert.deepEqual([lineOf(there.lines, 'room created')?.requestId, lineOf(there.lines, 'room created')?.room], ['made-it', 'r']);
  assert.equal(lineOf(here.lines, 'room placed')?.requestId, 'made-it');

  await addFiles(resources, { 'recordings/r-1/a.webm': 'x' });
  assert.equal((await ask('GET', '/recording/r-1/a.webm', 'watched')).status, 200);
  const ofWatching = ({ requestId, msg }: { requestId?: unknown; msg: string }) => requestId === 'watched' && msg === 'request completed';
  await eventually('both access logs', () => here.lines.some(ofWatching) && there.lines.some(ofWatching));

  assert.equal((await ask('PATCH', '/room/r', 'shortened', { peerlessPurgeTimeout: 1 })).status, 200);
  await eventually('the purge of the room', () => lineOf(there.lines, 'room ended') !== undefined);
  assert.equal(lineOf(there.lines, 'room ended')?.requestId, undefined);

  assert.equal((await ask('POST', '/room', 'again', { roomId: 's' })).status, 201);
  assert.equal((await ask('DELETE', '/room/s', 'ended-it')).status, 204);
  assert.deepEqual(
    there.lines.filter(({ msg }) => msg === 'room ended').map(({ room, requestId }) => [room, requestId]),
    [
      ['r', undefined],
      ['s', 'ended-it'],
    ],
  );
});

test('one trace contains the request, its RPC to the owning node, and the join through the other node', async (t) => {
  const collector = await OtlpReceiver.start(t);
  const pair = await startNodePair(t, { both: { SVC_TRACES_ENDPOINT: collector.url, SVC_TRACES_SAMPLE_PERCENT: '100' } });
  assert.equal((await pair.api.post(`/cluster/nodes/${pair.nonOwner.node.name}/drain`, { deadline: 600 })).status, 202);
  assert.equal((await pair.api.post('/room', { roomId: 'r' })).status, 201);
  const { body } = await pair.api.post('/room/r/peer', { type: 'webrtc' });
  const socket = await PeerSocket.enter(pair.nonOwner.peerSocketUrl, body.data.token);
  t.after(() => socket.webSocket.terminate());
  const ofCreation = () => collector.spans.find(({ name }) => name === 'POST /room')?.traceId;
  const traceId = await eventually('the trace of the room', ofCreation);
  const [request, join] = await collector.trace(traceId, ['POST /room', 'join peer']);
  const [sent, handled] = [3, 2].map((kind) =>
    collector.of(traceId).find((span) => span.name === 'rpc createLocalRoom' && span.kind === kind),
  );
  const [here, there] = [pair.nonOwner.node.name, pair.owner.node.name];
  assert.deepEqual([request.node, sent?.node, handled?.node, join.node], [here, here, there, there]);
  assert.deepEqual([sent?.parentSpanId, handled?.parentSpanId, join.parentSpanId], [request.spanId, sent?.spanId, handled?.spanId]);
});

test('an invalid id is replaced, and every response has one', async (t) => {
  const { api } = await startNodePair(t);
  for (const given of ['', 'a b', 'x'.repeat(129), '<script>']) {
    const id = (await api.request('GET', '/room', { headers: { 'x-request-id': given } })).headers.get('x-request-id');
    assert.match(String(id), /^[0-9a-f-]{36}$/);
  }
});
