// OpenAPI document: internal consistency, and the same validation as the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../../api/derive/json-schemas.ts';
import { errorCatalogue } from '../../api/errors.ts';
import { errorsOf, openApiDocument } from '../../node/http/openapi.ts';
import { routes } from '../../node/http/routes/routes.ts';

const document = openApiDocument(routes, { version: '0.0.0', path: '/eu' });
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

test('every route is documented once, with a unique id', () => {
  const documented = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).sort();
  assert.deepEqual(documented, routes.map(({ method, path }) => `${method} ${path}`).sort());
  assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
});

test('every reference resolves and every component is referenced', () => {
  const text = JSON.stringify(document);
  const names = new Set([...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference));
  assert.deepEqual(
    [...names].sort(),
    Object.keys(document.components.schemas)
      .map((name) => `#/components/schemas/${name}`)
      .sort(),
  );
});

test('every path parameter is declared', () => {
  for (const { path, method, operation } of operations) {
    const declared = ((operation.parameters ?? []) as { name: string; in: string }[])
      .filter((each) => each.in === 'path')
      .map(({ name }) => name);
    assert.deepEqual(
      declared,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      `${method} ${path}`,
    );
  }
});

test('every route lists the errors of authentication and body', () => {
  for (const route of routes) {
    const codes = errorsOf(route);
    assert.equal(codes.includes('missing_token'), route.auth !== 'none', route.path);
    assert.equal(codes.includes('read_only'), route.auth === 'token' && route.method !== 'GET', route.path);
    assert.equal(codes.includes('malformed_json'), route.body !== undefined && route.body.type === undefined, route.path);
    for (const code of codes) assert.ok(code in errorCatalogue);
  }
});

test('responses allow fields of later versions, requests reject unknown fields', () => {
  const { schemas } = document.components;
  for (const name of ['Room', 'Peer', 'Track', 'RoomConfig', 'Health', 'RoomPage', 'Error'])
    assert.equal(schemas[name]?.additionalProperties, undefined, name);
  for (const name of ['RoomOptions', 'RoomPatch', 'PeerOptions', 'PeerPatch', 'RoomData'])
    assert.equal(schemas[name]?.additionalProperties, false, name);
});

test('the document accepts and rejects the same bodies as the server', () => {
  const ajv = new Ajv2020({ strict: true, allErrors: true, strictTypes: false });
  addFormats.default(ajv);
  ajv.addVocabulary(['components']);
  const bodies: Record<string, unknown[]> = {
    createRoom: [
      {},
      { roomId: 'a_B-1' },
      { roomId: 'a b' },
      { roomId: '' },
      { maxPeers: 1 },
      { maxPeers: null },
      { maxPeers: 0 },
      { maxPeers: 1.5 },
      { maxPeers: '1' },
      { videoCodec: 'vp8' },
      { videoCodec: null },
      { videoCodec: 'av1' },
      { admission: 'manual' },
      { admission: null },
      { admission: 'never' },
      { peerlessPurgeTimeout: 5 },
      { peerlessPurgeTimeout: -5 },
      { peerDisconnectedTimeout: 1e12 },
      { webhookUrl: 7 },
      { unknown: 1 },
      [],
      null,
      'x',
    ],
    updateRoom: [{}, { maxPeers: 4, webhookUrl: null }, { roomId: 'x' }, { videoCodec: 'vp8' }],
    addPeer: [
      {},
      { type: 'webrtc' },
      { type: 'x' },
      { type: 'webrtc', metadata: { a: [null, 1, 'x', true] } },
      { type: 'webrtc', metadata: null },
      { type: 'webrtc', options: {} },
      { type: 'webrtc', options: null },
      { type: 'webrtc', options: { permissions: { publish: ['audio'] } } },
      { type: 'webrtc', options: { permissions: { publish: ['x'] } } },
      { type: 'webrtc', options: { permissions: { x: 1 } } },
      { type: 'webrtc', admitted: true },
      { type: 'webrtc', admitted: 'yes' },
      { type: 'webrtc', peerId: '/' },
    ],
    movePeer: [{}, { worker: 0 }, { worker: -1 }, { worker: 1.5 }, { worker: 'x' }, { leg: 1 }],
    updatePeer: [
      {},
      { permissions: {} },
      { permissions: { publish: [] } },
      { permissions: { subscribe: 1 } },
      { permissions: { roomMetadata: true } },
      { permissions: { publishSources: ['camera', 'screen'] } },
      { permissions: { publishSources: null } },
      { permissions: { publishSources: ['hologram'] } },
      { permissions: { publish: ['audio', 'audio', 'audio'] } },
      { metadata: null, name: 'Ada', attributes: { hand: null, seat: '7' } },
      { name: 7 },
      { attributes: { seat: 7 } },
    ],
    requestRpc: [
      {},
      { method: 'dance', payload: null, timeout: 1 },
      { method: '', payload: null },
      { method: 'dance', payload: 1, timeout: 61 },
    ],
    addComponent: [
      {},
      { type: 'file' },
      { type: 'rtsp' },
      { type: 'hls', options: {} },
      { type: 'hls', options: { width: 640, layout: 'speaker', lowLatency: null } },
      { type: 'hls', options: { width: 1e6 } },
      { type: 'hls', options: { layout: 'heap' } },
      { type: 'recording' },
      { type: 'recording', options: { subscribeMode: 'some' } },
      { type: 'sip', options: {} },
      { type: 'sip', options: { registrarCredentials: { address: 'a', username: 'b', password: 'c' }, ringTimeout: 5 } },
      { type: 'file', options: { filePath: 'a.ogg', framerate: 25 } },
      { type: 'file', options: null },
      { type: 'file', options: [] },
      { type: 'file', options: { filePath: 'a.ogg', anything: [1, { b: null }] } },
      { type: 'file', externalId: '' },
      { type: 'file', x: 1 },
    ],
    drainNode: [
      {},
      { deadline: 0 },
      { deadline: 60 },
      { deadline: -1 },
      { deadline: 1.5 },
      { deadline: 1e9 },
      { deadline: null },
      { x: 1 },
      [],
    ],
    startCall: [
      {},
      { phoneNumber: '+49 123' },
      { phoneNumber: '+49123' },
      { phoneNumber: '*21#' },
      { phoneNumber: 'alice' },
      { phoneNumber: '' },
      { phoneNumber: 123 },
      { phoneNumber: 'a@b' },
      { phoneNumber: '1'.repeat(65) },
      { phoneNumber: '1', x: 1 },
    ],
    sendDigits: [{}, { digits: '19*#A' }, { digits: '' }, { digits: 'x' }, { digits: 1 }, { digits: '1', x: 1 }],
    replayDeadLetters: [{}, { roomId: 'one' }, { roomId: '/' }, { eventIds: ['a'] }, { eventIds: [] }, { x: 1 }, null],
    sendData: [
      {},
      { label: 'l', payload: null },
      { label: 'l' },
      { label: '', payload: 1 },
      { label: 'x'.repeat(129), payload: 1 },
      { label: 'l', payload: { a: 1 }, to: ['p'] },
      { label: 'l', payload: 1, to: [1] },
    ],
    renderRecording: [
      {},
      { width: 640, height: 360, framerate: 24, layout: 'speaker' },
      { width: 641 },
      { height: 8 },
      { framerate: 61 },
      { layout: 'heap' },
      { output: '/etc/passwd' },
      null,
    ],
    createViewerToken: [{}, { expiresIn: 60 }, { expiresIn: 0 }, { expiresIn: 2_592_001 }, { expiresIn: '60' }, { roomId: 'x' }],
    subscribeComponent: [
      {},
      { origins: [] },
      { origins: ['a_B-1', 'p'] },
      { origins: ['a b'] },
      { origins: 'p' },
      { origins: ['p'], more: 1 },
    ],
  };
  const taking = routes.filter(({ body }) => body !== undefined && body.type === undefined);
  assert.deepEqual(taking.map(({ id }) => id).sort(), Object.keys(bodies).sort());
  for (const { id: operationId, body } of taking) {
    const operation = operations.find((each) => each.operation.operationId === operationId)?.operation;
    assert.ok(operation);
    const schema = (operation.requestBody as { content: Record<string, { schema: JsonSchema }> }).content['application/json']?.schema;
    const validate = ajv.compile({ ...schema, components: document.components });
    for (const each of bodies[operationId] ?? []) {
      assert.equal(
        validate(each),
        (body?.documented ?? body?.schema)?.safeParse(each).success,
        `${operationId} ${JSON.stringify(each)}: ${ajv.errorsText(validate.errors)}`,
      );
    }
  }
});
