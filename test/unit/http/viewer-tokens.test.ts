// Viewer tokens: accessible content, playlists with tokens, and cache headers.
import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ViewerTokens } from '../../../node/rooms/tokens/viewer-tokens.ts';
import { makeContent } from '../../kit/media/content.ts';
import { makeResources } from '../../kit/processes/resources-folder.ts';
import { recordedLog } from '../../kit/recorded-log.ts';
import { token as apiToken, getRaw, startServer } from './server.ts';

const kept = 'room-20260101T000000000Z';
const other = 'room-1-20260101T000000000Z';
const playlist = '#EXTM3U\n#EXT-X-MAP:URI="init-0.mp4"\n#EXTINF:2,\nsegment-1.m4s\n#EXT-X-ENDLIST\n';

async function make(t: TestContext) {
  const resources = await makeResources(t, {
    'hls/room/stream.m3u8': playlist,
    'hls/room/segment-1.m4s': '0123456789',
    'hls/room-1/stream.m3u8': 'secret of another room',
    [`recordings/${kept}/stream.m3u8`]: playlist,
    [`recordings/${kept}/segment-1.m4s`]: '0123456789',
    [`recordings/${kept}/report.json`]: '{}',
    [`recordings/${other}/report.json`]: '{"secret":"secret of another room"}',
    'secret.txt': 'top secret',
  });
  await symlink('../../secret.txt', join(resources, 'recordings', kept, 'link.m4s'));
  const { log, lines } = recordedLog();
  const viewerTokens = new ViewerTokens(['one', 'two']);
  const { url, api, server } = await startServer(t, { content: makeContent(resources), viewerTokens, log });
  const made = await api.post('/hls/room/token', { expiresIn: 60 });
  assert.equal(made.status, 201);
  const { token } = made.body.data as { token: string };
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${url}${path}`, { headers });
  return { get, api, server, token, made: made.body.data, lines, viewerTokens };
}

test('a viewer token is created with its link and expiry', async (t) => {
  const before = Date.now();
  const { api, made, token, viewerTokens } = await make(t);
  const after = Date.now();
  assert.equal(made.url, `node.test:5002/hls/room/index.m3u8?token=${token}`);
  // Whole seconds.
  const madeAt = Date.parse(made.expiresAt) - 60_000;
  assert.ok(madeAt > before - 1_000 && madeAt <= after, made.expiresAt);
  assert.equal((await viewerTokens.verify(token))?.roomId, 'room');
  for (const [body, status] of [
    [{}, 201],
    [{ expiresIn: 0 }, 400],
    [{ expiresIn: 2_592_001 }, 400],
    [{ expiresIn: '60' }, 400],
    [{ roomId: 'x' }, 400],
  ] as const) {
    assert.equal((await api.post('/hls/room/token', body)).status, status, JSON.stringify(body));
  }
  assert.equal((await api.post('/hls/a%2fb/token', {})).status, 400);
});

test('a token gives access to the stream of its room and the recordings of it, and nothing else', async (t) => {
  const { get, token, lines, viewerTokens } = await make(t);
  const expired = await new ViewerTokens(['one']).sign('room', -1);
  const foreign = await new ViewerTokens(['another secret']).sign('room', 60);
  const ofOther = await viewerTokens.sign('room-1', 60);
  const bySecond = await new ViewerTokens(['two']).sign('room', 60);
  for (const [path, status] of [
    [`/hls/room/segment-1.m4s?token=${token}`, 200],
    [`/hls/room/segment-1.m4s?token=${bySecond}`, 200],
    [`/recording/${kept}/report.json?token=${token}`, 200],
    [`/hls/room-1/stream.m3u8?token=${token}`, 403],
    [`/recording/${other}/report.json?token=${token}`, 403],
    [`/recording/none/report.json?token=${token}`, 403],
    [`/hls/room/segment-1.m4s?token=${ofOther}`, 403],
    [`/hls/room/segment-1.m4s?token=${expired}`, 401],
    [`/hls/room/segment-1.m4s?token=${foreign}`, 401],
    [`/hls/room/segment-1.m4s?token=${apiToken}`, 401],
    ['/hls/room/segment-1.m4s?token=', 401],
    ['/hls/room/segment-1.m4s', 401],
    [`/recording?token=${token}`, 401],
    [`/recording/${kept}?token=${token}`, 401],
    [`/room/room?token=${token}`, 401],
    [`/hls/room/..%2fstream.m3u8?token=${token}`, 400],
    [`/hls/room/..%2f..%2f..%2fsecret.txt?token=${token}`, 400],
    [`/hls/room/a%00b?token=${token}`, 400],
    [`/recording/${kept}/%2fetc%2fpasswd?token=${token}`, 400],
    [`/recording/${kept}/link.m4s?token=${token}`, 400],
    [`/hls/room/stream.m3u8?token=${token}&_HLS_msn=x`, 400],
    [`/hls/room/stream.m3u8?token=${token}&_HLS_skip=maybe`, 400],
  ] as const) {
    const answer = await get(path);
    const text = await answer.text();
    assert.equal(answer.status, status, path);
    assert.doesNotMatch(text, /top secret|secret of/, path);
    if (status >= 400) assert.equal(answer.headers.get('cache-control'), 'no-store', path);
  }
  assert.ok(!JSON.stringify(lines).includes(token.split('.')[2] ?? token), 'a token is in the log');
});

test('malformed tokens are rejected too', async (t) => {
  const { server, token } = await make(t);
  for (const path of [
    `/hls/room/../../secret.txt?token=${token}`,
    `/recording/${kept}/../../secret.txt?token=${token}`,
    `//hls/room/x?token=${token}`,
  ]) {
    const { status, body } = await getRaw(server, path);
    assert.ok(status === 400 || status === 404, `${path}: ${status}`);
    assert.doesNotMatch(JSON.stringify(body), /top secret/);
  }
});

test('playlists contain the token, are compressed, and are cached no longer than the token is valid', async (t) => {
  const { get, token } = await make(t);
  const answer = await get(`/recording/${kept}/stream.m3u8?token=${token}`);
  assert.equal(answer.headers.get('content-encoding'), 'gzip');
  assert.match(answer.headers.get('vary') ?? '', /accept-encoding/i);
  const text = await answer.text();
  assert.ok(text.includes(`URI="init-0.mp4?token=${token}"`) && text.includes(`\nsegment-1.m4s?token=${token}\n`), text);
  const age = Number(/^public, max-age=(\d+)$/.exec(answer.headers.get('cache-control') ?? '')?.[1]);
  assert.ok(age > 50 && age <= 60, `${age}`);
  const plain = await get(`/recording/${kept}/stream.m3u8`, { authorization: `Bearer ${apiToken}`, 'accept-encoding': 'identity' });
  assert.deepEqual([plain.headers.get('content-encoding'), await plain.text()], [null, playlist]);
  assert.equal(plain.headers.get('cache-control'), 'private, max-age=60');
  const segment = await get(`/recording/${kept}/segment-1.m4s?token=${token}`, { range: 'bytes=2-4' });
  assert.deepEqual([segment.status, await segment.text()], [206, '234']);
  assert.match(segment.headers.get('cache-control') ?? '', /^public, max-age=(5\d|60), immutable$/);
  const report = await get(`/recording/${kept}/report.json?token=${token}`);
  assert.equal(report.headers.get('cache-control'), 'no-store');
});

test('secrets for verification can be replaced', async (t) => {
  const { get, token, viewerTokens } = await make(t);
  const path = `/hls/room/segment-1.m4s?token=${token}`;
  assert.equal((await get(path)).status, 200);
  viewerTokens.replace(['three', 'one']);
  assert.equal((await get(path)).status, 200);
  viewerTokens.replace(['three']);
  assert.equal((await get(path)).status, 401);
});
