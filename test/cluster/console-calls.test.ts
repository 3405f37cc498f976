// Requests of the console at a node without the room: with a read token, and about the other node.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { apiClient } from '../kit/answers/api-client.ts';
import { testedDocument } from '../kit/answers/documented-answers.ts';
import { eventually } from '../kit/eventually.ts';
import { enterRoom, watchEvents } from '../kit/network/room-sockets.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { addFiles, makeResources } from '../kit/processes/resources-folder.ts';

const readToken = `read-token-${randomBytes(16).toString('hex')}`;

/** Report of a recording without tracks. */
const report = (node: string) => ({
  id: 'r-1',
  type: 'recording',
  roomId: 'r',
  node,
  state: 'finished',
  startTime: '2026-01-01T00:00:00.000Z',
  endTime: null,
  tracks: [],
});

test('a read token can read everything at any node and change nothing', async (t) => {
  const resources = await makeResources(t);
  const both = { SVC_SERVER_API_READ_TOKEN: readToken };
  const { owner, nonOwner, api } = await startNodePair(t, { both, owner: { SVC_RESOURCES_BASE_PATH: resources } });
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  await addFiles(resources, {
    'recordings/r-1/a.webm': '0123456789',
    'recordings/r-1/report.json': JSON.stringify(report(owner.node.name)),
  });
  await api.post('/room/r/peer', { type: 'webrtc', peerId: 'alice' });
  const ownerName = owner.node.name;
  const names = { roomId: 'r', peerId: 'alice', recordingId: 'r-1', nodeName: ownerName };
  const before = JSON.stringify((await api.get('/room/r')).body);
  let refused = 0;
  for (const node of [nonOwner, owner]) {
    const reader = apiClient(node.url, readToken);
    assert.deepEqual((await reader.get('/access')).body.data, { scope: 'read' });
    for (const [template, methods] of Object.entries(testedDocument.paths)) {
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name as keyof typeof names] ?? 'x');
      for (const [each, { security }] of Object.entries(methods)) {
        const method = each.toUpperCase();
        // Encoders need the token of a peer instead.
        if (method !== 'GET' && !security.some((scheme) => 'apiToken' in scheme)) continue;
        const { status, body } = await reader.request(method, path);
        if (method === 'GET') {
          assert.ok(![401, 403].includes(status), `${method} ${path} responds ${status}`);
          continue;
        }
        assert.deepEqual([status, body], [403, { errors: 'This token may only read', code: 'read_only' }], `${method} ${path}`);
        refused += 1;
      }
    }
    assert.equal((await reader.get('/room/r/stats')).body.data.peers[0].quality, 'unknown');
    const range = await fetch(`${node.url}/recording/r-1/a.webm`, {
      headers: { authorization: `Bearer ${readToken}`, range: 'bytes=2-4' },
    });
    assert.deepEqual([range.status, await range.text()], [206, '234']);
  }
  assert.ok(refused > 30, String(refused));
  assert.equal(JSON.stringify((await api.get('/room/r')).body), before);
  const events = await watchEvents(t, { ...nonOwner, token: readToken });
  assert.equal((await api.delete('/room/r')).status, 204);
  await events.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
});

test('a recording is rendered on the node that stores it, whichever node is asked', async (t) => {
  const resources = await makeResources(t);
  const { owner, api } = await startNodePair(t, { owner: { SVC_RESOURCES_BASE_PATH: resources } });
  await addFiles(resources, { 'recordings/r-1/report.json': JSON.stringify(report(owner.node.name)) });
  assert.deepEqual((await api.get('/recording/r-1/render')).body.data, { state: 'none', progress: 0 });
  assert.equal((await api.post('/recording/r-1/render', { width: 320, height: 180 })).status, 202);
  let { data } = (await api.get('/recording/r-1/render')).body;
  const hasFailed = async () => {
    ({ data } = (await api.get('/recording/r-1/render')).body);
    assert.ok(['queued', 'running', 'failed'].includes(data.state), JSON.stringify(data));
    return data.state === 'failed';
  };
  await eventually(() => `the render fails: ${JSON.stringify(data)}`, hasFailed, { every: 100 });
  assert.equal(data.reason, 'The recording has no playable track');
  assert.deepEqual((await owner.api.get('/recording/r-1/render')).body.data, data);
  assert.equal((await api.delete('/recording/r-1/render')).status, 204);
  assert.deepEqual((await api.get('/recording/r-1/render')).body.data, { state: 'none', progress: 0 });
  assert.equal((await api.post('/recording/r-2/render')).body.code, 'not_found');
});

test('configuration, drain preview and room stats of the other node are available', async (t) => {
  const { owner, nonOwner, api } = await startNodePair(t, { owner: { SVC_MAX_ROOMS: '7', SVC_DRAIN_TIMEOUT: '30' } });
  const [ownerName, wrongName] = [owner.node.name, nonOwner.node.name];
  const shown = ({ body }: { body: { data: { name: string; value: unknown; source: string }[] } }, name: string) => {
    const { value, source } = body.data.find((each) => each.name === name) ?? {};
    return [value, source];
  };
  const own = await api.get('/config');
  assert.deepEqual([own.body.node, shown(own, 'SVC_MAX_ROOMS')], [wrongName, [null, 'default']]);
  const other = await api.get(`/config?node=${encodeURIComponent(ownerName)}`);
  assert.deepEqual([other.body.node, shown(other, 'SVC_MAX_ROOMS')], [ownerName, [7, 'environment']]);
  assert.deepEqual(shown(other, 'SVC_SERVER_API_TOKEN'), ['***', 'environment']);
  assert.deepEqual(shown(other, 'SVC_HOST'), [`127.0.0.1:${owner.port}`, 'default']);
  assert.deepEqual(other.body.config, (await owner.api.get('/health')).body.data.config);
  assert.deepEqual(
    [(await api.get('/config?node=svc@nowhere')).body.code, (await api.get('/config?node=%00')).body.code],
    ['not_found', 'invalid_field'],
  );

  const drain = `/cluster/nodes/${encodeURIComponent(ownerName)}/drain`;
  await owner.node.parts.rooms.createRoom({ roomId: 'busy' });
  await owner.node.parts.rooms.createRoom({ roomId: 'empty' });
  await enterRoom(t, { ...owner, api }, 'busy', { peerId: 'alice' });
  const busy = { rooms: 1, peers: 1, calls: 0, streams: 0, recordings: 0, files: 0 };
  const idle = { state: 'accepting', deadline: null, defaultDeadline: 30, rooms: 2, roomsWithPeers: 1, connectedPeers: 1, busy };
  assert.deepEqual((await api.get(drain)).body.data, idle);
  assert.equal((await api.get('/room/busy/stats')).body.data.peers[0].status, 'connected');
  const start = Date.now();
  assert.equal((await api.post(drain, { deadline: 600 })).status, 202);
  const { deadline, ...draining } = (await api.get(drain)).body.data;
  assert.deepEqual(draining, { ...draining, state: 'draining', rooms: 1, roomsWithPeers: 1, connectedPeers: 1, busy });
  const now = Date.now();
  assert.ok(Date.parse(deadline) >= start + 599_000 && Date.parse(deadline) <= now + 601_000, deadline);
  assert.equal((await api.delete(drain)).status, 204);
  assert.deepEqual((await api.get(drain)).body.data, { ...idle, rooms: 1 });
  assert.equal((await api.get('/cluster/nodes/svc@nowhere/drain')).body.code, 'not_found');
});
