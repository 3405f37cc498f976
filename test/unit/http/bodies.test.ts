// Invalid request bodies and the error message of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxBodyBytes } from '../../../node/http/middleware/body.ts';
import { startServer } from './server.ts';

const long = 'x'.repeat(300);
const cut = `"${'x'.repeat(99)}…`;

test('every invalid field of a new room is rejected by name', async (context) => {
  const { api } = await startServer(context);
  const rule = 'roomId may contain only alphanumeric characters, hyphens and underscores';
  const cases: [body: unknown, message: string, field: string | undefined][] = [
    [{ roomId: 'a/b' }, `Cannot add room with id "a/b" - ${rule}`, 'roomId'],
    [{ roomId: '..' }, `Cannot add room with id ".." - ${rule}`, 'roomId'],
    [{ roomId: 'a\0b' }, `Cannot add room with id "a\\u0000b" - ${rule}`, 'roomId'],
    [{ roomId: 'räume' }, `Cannot add room with id "räume" - ${rule}`, 'roomId'],
    [{ roomId: '' }, `Cannot add room with id "" - ${rule}`, 'roomId'],
    [{ roomId: 'a\n' }, `Cannot add room with id "a\\n" - ${rule}`, 'roomId'],
    [{ roomId: 7 }, `Cannot add room with id 7 - ${rule}`, 'roomId'],
    [{ roomId: null }, `Cannot add room with id null - ${rule}`, 'roomId'],
    [{ roomId: long }, `Cannot add room with id ${cut} - roomId may be at most 128 characters long`, 'roomId'],
    [{ maxPeers: 'x' }, 'Expected maxPeers to be a positive integer, got: "x"', 'maxPeers'],
    [{ maxPeers: 0 }, 'Expected maxPeers to be a positive integer, got: 0', 'maxPeers'],
    [{ maxPeers: 1.5 }, 'Expected maxPeers to be a positive integer, got: 1.5', 'maxPeers'],
    [{ maxPeers: '10' }, 'Expected maxPeers to be a positive integer, got: "10"', 'maxPeers'],
    [{ maxPeers: 1e9 }, 'Expected maxPeers to be at most 1000000, got: 1000000000', 'maxPeers'],
    [{ maxPeers: [long] }, `Expected maxPeers to be a positive integer, got: ["${'x'.repeat(98)}…`, 'maxPeers'],
    [{ videoCodec: 'av1' }, 'Expected videoCodec to be one of h264, vp8, none, got: "av1"', 'videoCodec'],
    [{ webhookUrl: 'ftp://x' }, 'Expected webhookUrl to be an http or https URL, got: "ftp://x"', 'webhookUrl'],
    [{ webhookUrl: 7 }, 'Expected webhookUrl to be an http or https URL, got: 7', 'webhookUrl'],
    [{ peerlessPurgeTimeout: -1 }, 'Expected peerlessPurgeTimeout to be a positive integer, got: -1', 'peerlessPurgeTimeout'],
    [{ peerDisconnectedTimeout: true }, 'Expected peerDisconnectedTimeout to be a positive integer, got: true', 'peerDisconnectedTimeout'],
    [{ externalId: 'ü'.repeat(129) }, `externalId may be at most 256 bytes, got: "${'ü'.repeat(99)}…`, 'externalId'],
    [{ externalId: '' }, 'Expected externalId to have at least 1 character, got: ""', 'externalId'],
    [{ maxPeer: 1 }, 'Unknown field maxPeer', 'maxPeer'],
    [{ a: 1, b: 2 }, 'Unknown fields a, b', 'a'],
    [[], 'Expected the body to be an object, got: []', undefined],
    [null, 'Expected the body to be an object, got: null', undefined],
    ['room', 'Expected the body to be an object, got: "room"', undefined],
  ];
  for (const [json, message, field] of cases) {
    const { status, body } = await api.post('/room', json);
    assert.deepEqual([status, body], [400, { errors: message, code: 'invalid_field', ...(field && { field }) }]);
  }
});

test('every invalid field of a peer, a patch and data is rejected by path', async (context) => {
  const { api, rooms } = await startServer(context);
  await rooms.createRoom({ roomId: 'r' });
  const peer = '/room/r/peer';
  const webrtc = (options: unknown) => ({ type: 'webrtc', options });
  const permitted = 'options.permissions';
  const cases: [path: string, body: unknown, message: string, field: string][] = [
    [peer, {}, 'Required field type is missing', 'type'],
    [peer, { type: 'rtsp' }, 'Expected type to be "webrtc", got: "rtsp"', 'type'],
    [peer, webrtc(null), 'Expected options to be an object, got: null', 'options'],
    [
      peer,
      webrtc({ enableSimulcast: 'yes' }),
      'Expected options.enableSimulcast to be true or false, got: "yes"',
      'options.enableSimulcast',
    ],
    [
      peer,
      webrtc({ permissions: { publish: [7] } }),
      `Expected ${permitted}.publish[0] to be one of audio, video, got: 7`,
      `${permitted}.publish[0]`,
    ],
    [
      peer,
      webrtc({ permissions: { publish: ['audio', 'video', 'audio'] } }),
      `Expected ${permitted}.publish to have at most 2 items, got: ["audio","video","audio"]`,
      `${permitted}.publish`,
    ],
    [peer, webrtc({ permissions: { speak: true } }), `Unknown field ${permitted}.speak`, `${permitted}.speak`],
    [
      peer,
      { type: 'webrtc', peerId: 'a b' },
      'peerId may contain only alphanumeric characters, hyphens and underscores (1 to 128), got: "a b"',
      'peerId',
    ],
    [peer, { type: 'webrtc', metadata: long.repeat(60) }, `metadata may be at most 16384 bytes of JSON, got: ${cut}`, 'metadata'],
    ['/room/r/data', { payload: 1 }, 'Required field label is missing', 'label'],
    ['/room/r/data', { label: 'l' }, 'Required field payload is missing', 'payload'],
    ['/room/r/data', { label: 7, payload: 1 }, 'Expected label to be a string, got: 7', 'label'],
    ['/room/r/data', { label: 'l', payload: 1, to: ['a', 7] }, 'Expected to[1] to be a string, got: 7', 'to[1]'],
    ['/room/r/data', { label: 'l', payload: 1, to: 'a' }, 'Expected to to be a list, got: "a"', 'to'],
  ];
  for (const [path, json, message, field] of cases) {
    const { status, body } = await api.post(path, json);
    assert.deepEqual([status, body], [400, { errors: message, code: 'invalid_field', field }]);
  }
  const patch = await api.patch('/room/r', { videoCodec: 'vp8' });
  assert.deepEqual(patch.body, { errors: 'Unknown field videoCodec', code: 'invalid_field', field: 'videoCodec' });
  assert.equal((await rooms.getRoom('r')).peers.length, 0);
});

test('a body that is not JSON, not UTF-8, too deep or of another type is rejected', async (context) => {
  const { api } = await startServer(context);
  const json = { 'content-type': 'application/json' };
  const malformed = [400, 'malformed_json'] as const;
  const unsupported = [415, 'unsupported_media_type'] as const;
  const expected = 'Expected a body of content-type application/json';
  const cases: [text: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>, status: number, code: string, message: string][] =
    [
      ['{', json, ...malformed, 'The body is not valid JSON'],
      ['{"maxPeers": 01}', json, ...malformed, 'The body is not valid JSON'],
      ['undefined', json, ...malformed, 'The body is not valid JSON'],
      [new Uint8Array([0x22, 0xff, 0x22]), json, ...malformed, 'The body is not valid UTF-8'],
      ['['.repeat(60_000), json, ...malformed, 'The body is nested deeper than 64 levels'],
      [`{"metadata":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, json, ...malformed, 'The body is nested deeper than 64 levels'],
      ['a=b', { 'content-type': 'application/x-www-form-urlencoded' }, ...unsupported, expected],
      ['{}', { 'content-type': 'application/json; charset=latin1' }, ...unsupported, expected],
      ['{}', { 'content-type': '' }, ...unsupported, expected],
      ['{}', { ...json, 'content-encoding': 'gzip' }, ...unsupported, 'Expected a body without content-encoding'],
    ];
  for (const [text, headers, status, code, message] of cases) {
    const answer = await api.request('POST', '/room', { text, headers });
    assert.deepEqual([answer.status, answer.body], [status, { errors: message, code }]);
  }
  assert.equal(
    (await api.request('POST', '/room', { text: '{}', headers: { 'content-type': 'Application/JSON; charset=UTF-8' } })).status,
    201,
  );
});

test('brackets in strings do not count as nesting', async (context) => {
  const { api } = await startServer(context);
  await api.post('/room', { roomId: 'r' });
  const metadata = { text: `\\"${'[{'.repeat(500)}\\`, deep: JSON.parse(`${'['.repeat(62)}${']'.repeat(62)}`) as unknown };
  const { status, body } = await api.post('/room/r/peer', { type: 'webrtc', metadata });
  assert.equal(status, 201);
  assert.deepEqual(body.data.peer.metadata, metadata);
});

test('a body of 64 KiB is accepted and one more byte rejected, with and without a declared length', async (context) => {
  const { api } = await startServer(context);
  const headers = { 'content-type': 'application/json' };
  const sized = (size: number) => `{"roomId":"r"}${' '.repeat(size - 14)}`;
  assert.equal((await api.request('POST', '/room', { text: sized(maxBodyBytes), headers })).status, 201);
  const refused = { errors: 'The body is larger than 65536 bytes', code: 'too_large' };
  for (const size of [maxBodyBytes + 1, 1024 * 1024, 8 * 1024 * 1024]) {
    const answer = await api.request('POST', '/room', { text: sized(size), headers });
    assert.deepEqual([answer.status, answer.body], [413, refused]);
  }
  assert.equal((await api.request('DELETE', '/room/r', { text: sized(maxBodyBytes + 1), headers })).status, 413);
  assert.equal((await api.get('/room/r')).status, 200);
});

test('keys of object prototypes have no effect and are dropped or rejected', async (context) => {
  const { api } = await startServer(context);
  const headers = { 'content-type': 'application/json' };
  const answer = await api.request('POST', '/room', { text: '{"__proto__":{"maxPeers":1}}', headers });
  assert.deepEqual([answer.status, answer.body.errors], [400, 'Unknown field __proto__']);
  await api.post('/room', { roomId: 'r' });
  const peer = await api.request('POST', '/room/r/peer', {
    text: '{"type":"webrtc","metadata":{"__proto__":{"polluted":true},"constructor":1}}',
    headers,
  });
  assert.equal(peer.status, 201);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test('a POST that needs a body reports that it is missing', async (context) => {
  const { api } = await startServer(context);
  const { status, body } = await api.post('/room/r/peer');
  assert.deepEqual([status, body], [400, { errors: 'Expected a JSON body', code: 'bad_request' }]);
});
