// Local content: served files, and rejected paths.
import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ContentRequest, ContentResponse } from '../../../node/rooms/services/content.ts';
import { LocalContent } from '../../../node/storage/local-content.ts';
import { resolveFileInside } from '../../../node/storage/safe-paths.ts';
import { runCommand } from '../../kit/processes/command.ts';
import { makeResources } from '../../kit/processes/resources-folder.ts';

const request = (folder: string, file: string, more: Partial<ContentRequest> = {}): ContentRequest => ({
  kind: 'recording',
  folder,
  file,
  method: 'GET',
  range: undefined,
  ifRange: undefined,
  client: '127.0.0.1',
  forwarded: false,
  signal: new AbortController().signal,
  ...more,
});

async function read({ body }: ContentResponse): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function make(t: TestContext) {
  const resources = await makeResources(t, {
    'recordings/room/index.m3u8': '#EXTM3U',
    'recordings/room/0.m4s': '0123456789',
    'recordings/room/empty.ogg': '',
    'recordings/room/inner/deep.mp4': 'deep',
    'recordings/other/secret.m4s': 'of another room',
    'recordings/room-1/report.json': '{"id":"room-1"}',
    'recordings/room-2/audio.ogg': 'ogg',
    'secret.txt': 'top secret',
  });
  return { resources, content: new LocalContent(resources) };
}

test('files are served with size, type and validators for ranges', async (t) => {
  const { content } = await make(t);
  const answer = await content.open(request('room', 'index.m3u8'));
  assert.equal(await read(answer), '#EXTM3U');
  const { etag = '', 'last-modified': modified = '', ...headers } = answer.headers;
  assert.deepEqual(
    [answer.status, headers],
    [200, { 'content-type': 'application/vnd.apple.mpegurl', 'accept-ranges': 'bytes', 'content-length': '7' }],
  );
  assert.match(etag, /^"7-\w+"$/);
  const now = Date.now();
  assert.ok(Date.parse(modified) <= now);
  const report = await content.open(request('room-1', 'report.json'));
  assert.equal(report.headers['content-type'], 'application/json');
  assert.equal(await read(report), '{"id":"room-1"}');
});

test('ranges return parts, with If-Range only of the same file', async (t) => {
  const { content } = await make(t);
  const part = await content.open(request('room', '0.m4s', { range: 'bytes=2-4' }));
  assert.deepEqual(
    [part.status, part.headers['content-range'], part.headers['content-length'], await read(part)],
    [206, 'bytes 2-4/10', '3', '234'],
  );
  const { etag, 'last-modified': modified } = part.headers;
  for (const [ifRange, status] of [
    [etag, 206],
    [modified, 206],
    ['"other"', 200],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 200],
  ] as const) {
    const answer = await content.open(request('room', '0.m4s', { range: 'bytes=2-4', ifRange }));
    await read(answer);
    assert.equal(answer.status, status, String(ifRange));
  }
  const beyond = await content.open(request('room', '0.m4s', { range: 'bytes=10-' }));
  assert.deepEqual([beyond.status, beyond.headers, beyond.body], [416, { 'content-range': 'bytes */10' }, undefined]);
});

test('HEAD and empty files have no body and keep no file open', async (t) => {
  const { content } = await make(t);
  const open = async () => (await readdir('/proc/self/fd')).length;
  const before = await open();
  for (let count = 0; count < 20; count += 1) {
    const head = await content.open(request('room', '0.m4s', { method: 'HEAD', range: 'bytes=2-4' }));
    assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '10', undefined]);
    const empty = await content.open(request('room', 'empty.ogg'));
    assert.deepEqual([empty.status, empty.headers['content-length'], empty.body], [200, '0', undefined]);
    await content.open(request('room', '0.m4s', { range: 'bytes=99-' }));
    await read(await content.open(request('room', '0.m4s')));
    await assert.rejects(content.open(request('room', 'inner')), { code: 'not_found' });
  }
  assert.ok((await open()) <= before + 1);
});

test('missing files, missing folders and folders requested as files are not found', async (t) => {
  const { content } = await make(t);
  for (const [folder, file] of [
    ['room', 'missing.m4s'],
    ['missing', 'index.m3u8'],
    ['room', 'inner'],
    ['room', 'x'.repeat(300)],
    ['y'.repeat(300), 'index.m3u8'],
  ] as const) {
    await assert.rejects(content.open(request(folder, file)), { code: 'not_found' }, `${folder}/${file}`.slice(0, 50));
  }
  const nothing = new LocalContent('/nonexistent/mediarooms');
  await assert.rejects(nothing.open(request('room', 'index.m3u8')), { code: 'not_found' });
  assert.deepEqual(await nothing.listRecordings(), { ids: [], incomplete: [] });
});

for (const name of [
  '..',
  '.',
  '',
  '../other/secret.m4s',
  '..\\other',
  '/etc/passwd',
  'inner/deep.mp4',
  'index.m3u8\0',
  '\0',
  '../../secret.txt',
  '..%2f',
]) {
  test(`the name ${JSON.stringify(name)} is rejected as file and as folder`, async (t) => {
    const { content } = await make(t);
    // '..%2f' is a plain name here, because it is not decoded again.
    const code = name === '..%2f' ? 'not_found' : 'bad_request';
    await assert.rejects(content.open(request('room', name)), { code });
    await assert.rejects(content.open(request(name, 'index.m3u8')), { code });
    await assert.rejects(content.open(request(name, 'report.json')), { code });
    assert.equal(await content.has('recording', name), false);
    await assert.rejects(content.deleteRecording(name), { code: name === '..%2f' ? 'not_found' : 'bad_request' });
    assert.deepEqual((await content.listRecordings()).ids, ['other', 'room', 'room-1', 'room-2']);
  });
}

test('links may point inside their folder and never outside', async (t) => {
  const { resources, content } = await make(t);
  const room = join(resources, 'recordings/room');
  await symlink('0.m4s', join(room, 'latest.m4s'));
  await symlink(join(room, 'inner/deep.mp4'), join(room, 'deep.mp4'));
  assert.equal(await read(await content.open(request('room', 'latest.m4s'))), '0123456789');
  assert.equal(await read(await content.open(request('room', 'deep.mp4'))), 'deep');
  await symlink('/etc/passwd', join(room, 'absolute.m4s'));
  await symlink('../other/secret.m4s', join(room, 'relative.m4s'));
  await symlink('../../secret.txt', join(room, 'up.m4s'));
  await symlink('absolute.m4s', join(room, 'chain.m4s'));
  await symlink(resources, join(room, 'folder'));
  for (const file of ['absolute.m4s', 'relative.m4s', 'up.m4s', 'chain.m4s', 'folder']) {
    await assert.rejects(content.open(request('room', file)), { code: 'bad_request' }, file);
  }
  await symlink('loop.m4s', join(room, 'loop.m4s'));
  await symlink('nothing.m4s', join(room, 'dangling.m4s'));
  for (const file of ['loop.m4s', 'dangling.m4s']) await assert.rejects(content.open(request('room', file)), { code: 'not_found' }, file);
});

test('a folder that is a link exposes no other content, and nothing is deleted through it', async (t) => {
  const { resources, content } = await make(t);
  await symlink('other', join(resources, 'recordings/alias'));
  await symlink('/etc', join(resources, 'recordings/etc'));
  await symlink('room-1', join(resources, 'recordings/alias-1'));
  await assert.rejects(content.open(request('alias', 'secret.m4s')), { code: 'bad_request' });
  await assert.rejects(content.open(request('etc', 'passwd')), { code: 'bad_request' });
  await assert.rejects(content.deleteRecording('alias-1'), { code: 'bad_request' });
  assert.equal(await content.has('recording', 'alias-1'), false);
  assert.deepEqual((await content.listRecordings()).ids, ['other', 'room', 'room-1', 'room-2']);
});

test('the resources directory itself may be a link, for example to a mounted volume', async (t) => {
  const { resources } = await make(t);
  const elsewhere = await makeResources(t);
  await symlink(resources, join(elsewhere, 'mounted'));
  const content = new LocalContent(join(elsewhere, 'mounted'));
  assert.equal(await read(await content.open(request('room', '0.m4s'))), '0123456789');
});

test('a folder whose name is a prefix of another one is a different folder', async (t) => {
  const { resources } = await make(t);
  await mkdir(join(resources, 'recordings/room-more'));
  await writeFile(join(resources, 'recordings/room-more/x.m4s'), 'x');
  await symlink('../room-more/x.m4s', join(resources, 'recordings/room/x.m4s'));
  await assert.rejects(resolveFileInside(join(resources, 'recordings/room'), 'x.m4s'), { code: 'bad_request' });
});

test('a pipe in the folder does not block requests', async (t) => {
  const { resources, content } = await make(t);
  await runCommand(['mkfifo', join(resources, 'recordings/room/pipe.m4s')]);
  await assert.rejects(content.open(request('room', 'pipe.m4s')), { code: 'not_found' });
});

test('recordings are listed by folder and deleted completely', async (t) => {
  const { resources, content } = await make(t);
  await writeFile(join(resources, 'recordings/a-file'), '');
  await mkdir(join(resources, 'recordings/.hidden'));
  assert.deepEqual(await content.listRecordings(), { ids: ['other', 'room', 'room-1', 'room-2'], incomplete: [] });
  assert.equal(await content.has('recording', 'room-1'), true);
  await content.deleteRecording('room-1');
  assert.equal(await content.has('recording', 'room-1'), false);
  assert.deepEqual((await content.listRecordings()).ids, ['other', 'room', 'room-2']);
  await assert.rejects(content.deleteRecording('room-1'), { code: 'not_found' });
});
