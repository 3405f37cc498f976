// Components in a cluster of two nodes: requests through the other node, events on sockets and webhooks, and errors.
import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RoomEvent } from '../../api/events.ts';
import { oggFile, opusPacket, playableFiles } from '../kit/media/ogg-file.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
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

const expected = [
  'RoomCreated',
  'ComponentAdded',
  'TrackAdded',
  'TrackRemoved',
  'ComponentRemoved finished',
  'ComponentAdded',
  'TrackAdded',
  'TrackRemoved',
  'ComponentCrashed The file has an Opus packet of more than 1400 bytes, which does not fit an RTP packet',
  'ComponentAdded',
  'TrackAdded',
  'TrackRemoved',
  'ComponentRemoved removed',
  'ComponentAdded',
  'TrackAdded',
  'TrackRemoved',
  'ComponentRemoved room_deleted',
  'RoomDeleted deleted',
];

test('component events reach the other node and a webhook, in order', async (t) => {
  const { owner, nonOwner, api } = await arrange(t);
  const receiver = await startReceiver(t);
  const socket = await PeerSocket.enter(nonOwner.serverSocketUrl, nonOwner.token);
  t.after(() => socket.cut());
  await socket.request('subscribe', { events: 'all' });
  await owner.node.parts.rooms.createRoom({ roomId: 'r', webhookUrl: receiver.url });

  const add = async (filePath: string, externalId: string) => {
    const { status, body } = await api.post('/room/r/component', { type: 'file', options: { filePath }, externalId });
    assert.equal(status, 201, JSON.stringify(body));
    return body.data;
  };
  const reported = (kind: string, id: string) => socket.waitFor('roomEvent', (event) => event.type === kind && event.componentId === id);

  const short = await add('short.ogg', 'short');
  assert.deepEqual([short.type, short.properties, short.tracks.length], ['file', { filePath: 'short.ogg', framerate: null }, 1]);
  await reported('ComponentRemoved', short.id);
  assert.equal((await api.get(`/room/r/component/${short.id}`)).body.code, 'component_not_found');
  await reported('ComponentCrashed', (await add('broken.ogg', 'broken')).id);

  const long = await add('long.ogg', 'long');
  assert.deepEqual((await api.get(`/room/r/component/${long.id}`)).body.data, long);
  assert.deepEqual((await api.get('/room/r')).body.data.components, [long]);
  const again = await api.post('/room/r/component', { type: 'file', options: { filePath: 'long.ogg' }, externalId: 'long' });
  assert.deepEqual([again.status, again.body.data.id], [200, long.id]);
  assert.match(await (await fetch(owner.metricsUrl)).text(), /^svc_components\{type="file"\} 1$/m);
  assert.equal((await api.delete(`/room/r/component/${long.id}`)).status, 204);
  assert.equal((await api.delete(`/room/r/component/${long.id}`)).status, 404);
  assert.match(await (await fetch(owner.metricsUrl)).text(), /^svc_components\{type="file"\} 0$/m);
  await add('long.ogg', 'last');
  assert.equal((await api.delete('/room/r')).status, 204);

  await socket.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
  await receiver.untilTrue((all) => all.some(({ event }) => event.type === 'RoomDeleted'));
  const label = ({ type, reason }: RoomEvent) => (reason === undefined ? type : `${type} ${reason}`);
  const heard = socket.events('roomEvent').map(({ data }) => data as RoomEvent);
  assert.deepEqual(heard.map(label), expected);
  assert.deepEqual(
    heard.map(({ seq }) => seq),
    expected.map((_, index) => index + 1),
  );
  assert.deepEqual(
    receiver.received.map(({ event }) => event),
    heard,
  );
});

test('a dying worker ends its component: TrackRemoved, then RoomCrashed instead of a component event', async (t) => {
  const { owner, nonOwner, api } = await arrange(t);
  const socket = await PeerSocket.enter(nonOwner.serverSocketUrl, nonOwner.token);
  t.after(() => socket.cut());
  await socket.request('subscribe', { events: 'all' });
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  assert.equal((await api.post('/room/r/component', { type: 'file', options: { filePath: 'long.ogg' } })).status, 201);
  const pid = owner.node.parts.media.workers()[0]?.pid;
  assert.ok(pid);
  process.kill(pid, 'SIGKILL');
  await socket.waitFor('roomEvent', ({ type }) => type === 'RoomCrashed');
  assert.deepEqual(
    socket.events('roomEvent').map(({ data }) => data.type),
    ['RoomCreated', 'ComponentAdded', 'TrackAdded', 'TrackRemoved', 'RoomCrashed'],
  );
});

test('invalid requests are rejected in the documented order, each with its message', async (t) => {
  const { owner, api, resources } = await arrange(t);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  await addFiles(resources, { [`${sources}/notes.txt`]: 'x' });
  await symlink('../outside.ogg', join(resources, sources, 'link.ogg'));
  const invalid = 'Invalid file path: it has to stay inside file_component_sources';
  const file = (filePath: unknown) => ({ type: 'file', options: { filePath } });
  for (const [room, body, status, sentence] of [
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
    assert.deepEqual([answer.status, answer.body.errors], [status, sentence], JSON.stringify(body));
  }
  assert.deepEqual((await api.get('/room/r')).body.data.components, []);
});
