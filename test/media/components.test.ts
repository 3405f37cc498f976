// Components in a cluster of two nodes: requests through the other node, and errors. Their events are tested in events.test.ts.
import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { oggFile, opusPacket, playableFiles } from '../kit/media/ogg-file.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { type NodePair, startNodePair } from '../kit/processes/node-pair.ts';
import { addFiles, makeResources } from '../kit/processes/resources-folder.ts';

const sources = 'file_component_sources';

async function arrange(t: TestContext): Promise<NodePair & { resources: string }> {
  const resources = await makeResources(t, {
    ...playableFiles(),
    'outside.ogg': oggFile([opusPacket(50, 1)]),
  });
  const pair = await startNodePair(t, { both: { SVC_COMPONENTS_USED: 'file hls' }, owner: { SVC_RESOURCES_BASE_PATH: resources } });
  return { ...pair, resources };
}

test('a component is added once, read, counted and deleted through the other node', async (t) => {
  const { owner, nonOwner, api } = await arrange(t);
  const socket = await watchEvents(t, nonOwner);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const add = async (filePath: string, externalId: string) => {
    const { status, body } = await api.post('/room/r/component', { type: 'file', options: { filePath }, externalId });
    assert.equal(status, 201, JSON.stringify(body));
    return body.data;
  };
  const short = await add('short.ogg', 'short');
  assert.deepEqual([short.type, short.properties, short.tracks.length], ['file', { filePath: 'short.ogg', framerate: null }, 1]);
  await socket.waitFor('roomEvent', ({ type, componentId }) => type === 'ComponentRemoved' && componentId === short.id);
  assert.equal((await api.get(`/room/r/component/${short.id}`)).body.code, 'component_not_found');

  const long = await add('long.ogg', 'long');
  assert.deepEqual((await api.get(`/room/r/component/${long.id}`)).body.data, long);
  assert.deepEqual((await api.get('/room/r')).body.data.components, [long]);
  const again = await api.post('/room/r/component', { type: 'file', options: { filePath: 'long.ogg' }, externalId: 'long' });
  assert.deepEqual([again.status, again.body.data.id], [200, long.id]);
  assert.match(await (await fetch(owner.metricsUrl)).text(), /^svc_components\{type="file"\} 1$/m);
  assert.equal((await api.delete(`/room/r/component/${long.id}`)).status, 204);
  assert.equal((await api.delete(`/room/r/component/${long.id}`)).status, 404);
  assert.match(await (await fetch(owner.metricsUrl)).text(), /^svc_components\{type="file"\} 0$/m);
});

test('invalid requests are rejected in the documented order, each with its message', async (t) => {
  const { owner, api, resources } = await arrange(t);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  await addFiles(resources, { [`${sources}/notes.txt`]: 'x' });
  await symlink('../outside.ogg', join(resources, sources, 'link.ogg'));
  const invalid = 'Invalid file path: it has to stay inside file_component_sources';
  const file = (filePath: unknown) => ({ type: 'file', options: { filePath } });
  for (const [room, body, status, message] of [
    ['none', undefined, 400, 'Expected a JSON body'],
    ['none', {}, 400, 'Required field type is missing'],
    ['none', { type: 'rtsp' }, 400, 'Invalid component type: expected one of hls, recording, sip, file, got: "rtsp"'],
    ['none', { type: 'file', options: null }, 400, 'Expected options to be an object, got: null'],
    ['none', file('a.ogg'), 404, 'Room none does not exist'],
    ['r', { type: 'recording' }, 400, 'Components of type recording are disabled on this node'],
    ['r', { type: 'hls', options: { width: 641 } }, 400, 'Expected width to be even, got: 641'],
    ['r', { type: 'file' }, 400, 'Required field filePath is missing'],
    ['r', file('notes.txt'), 400, 'Unsupported file type: only .ogg and .h264 are supported, got: "notes.txt"'],
    ['r', file('none.ogg'), 404, 'File not found'],
    ['r', file('../outside.ogg'), 400, invalid],
    ['r', file(join(resources, sources, 'long.ogg')), 400, invalid],
    ['r', file('link.ogg'), 400, invalid],
    ['r', file('long.ogg\0.ogg'), 400, invalid],
  ] as const) {
    const answer = await api.post(`/room/${room}/component`, body);
    assert.deepEqual([answer.status, answer.body.errors], [status, message], JSON.stringify(body));
  }
  assert.deepEqual((await api.get('/room/r')).body.data.components, []);
});
