// Console files: served files and their headers, and rejected paths.
import assert from 'node:assert/strict';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempFolder } from '../../kit/temp-folder.ts';
import { getRaw, sendRaw, startServer } from './server.ts';

async function consoleFolder(context: TestContext): Promise<string> {
  const parent = tempFolder(context);
  const folder = join(parent, 'dist');
  await mkdir(join(folder, 'assets'), { recursive: true });
  await writeFile(join(parent, 'secret.txt'), 'secret');
  await writeFile(join(folder, '.hidden'), 'secret');
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>console</title>');
  await writeFile(join(folder, 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  await writeFile(join(folder, 'assets', 'index-D4f_aB3x.js'), 'export {};');
  return folder;
}

test('the page is never cached, hashed files are cached forever, and all have a strict content policy', async (context) => {
  const { server, url } = await startServer(context, { consoleDir: await consoleFolder(context), host: () => 'media.test:8080/eu' });
  const page = await fetch(`${url}/`);
  assert.equal(await page.text(), '<!doctype html><title>console</title>');
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  const policy = page.headers.get('content-security-policy') ?? '';
  const own = new URL(url).host;
  assert.deepEqual(policy.split('; '), [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self' ws://${own} wss://${own} ws://media.test:8080 wss://media.test:8080`,
    "img-src 'self' data:",
    "font-src 'self'",
    "media-src 'self' blob:",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
  ]);
  assert.equal(page.headers.get('permissions-policy'), 'camera=(self), microphone=(self), display-capture=(self)');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  const asset = await fetch(`${url}/assets/index-D4f_aB3x.js`);
  assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.match(asset.headers.get('content-type') ?? '', /javascript/);
  assert.equal((await fetch(`${url}/icon.svg`)).headers.get('cache-control'), 'no-cache');
  const again = await sendRaw(
    server,
    `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nif-none-match: ${page.headers.get('etag')}\r\n\r\n`,
  );
  assert.match(again, /^HTTP\/1.1 304 /);
});

test('pages of two releases have different ETags even with equal size and time', async (context) => {
  const consoleDir = await consoleFolder(context);
  const { url } = await startServer(context, { consoleDir });
  const page = join(consoleDir, 'index.html');
  await utimes(page, 0, 0);
  const first = await fetch(`${url}/`);
  assert.equal(first.headers.get('last-modified'), null);
  await writeFile(page, '<!doctype html><title>CONSOLE</title>');
  await utimes(page, 0, 0);
  const second = await fetch(`${url}/`, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
  assert.equal(second.status, 200);
  assert.equal(await second.text(), '<!doctype html><title>CONSOLE</title>');
});

test('hidden, missing and outside files are not served', async (context) => {
  const { server, api } = await startServer(context, { consoleDir: await consoleFolder(context) });
  const paths = [
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/..\\secret.txt',
    '/.hidden',
    '/assets',
    '/assets/',
    '/nothing.js',
    '/index.html%00.js',
    '/%zz',
  ];
  for (const path of paths) {
    const { status, body, head } = await getRaw(server, path);
    assert.deepEqual([status, body.code], [404, 'not_found'], path);
    assert.match(head, /content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n/);
    assert.match(head, /cache-control: no-store\r\n/);
  }
  assert.equal((await api.post('/')).status, 404);
});

test('an invalid host header is not added to the content policy', async (context) => {
  const { server } = await startServer(context, { consoleDir: await consoleFolder(context) });
  const response = await sendRaw(server, "GET / HTTP/1.1\r\nhost: x; script-src 'unsafe-inline'\r\nconnection: close\r\n\r\n");
  assert.match(response, /connect-src 'self' ws:\/\/node\.test:5002 wss:\/\/node\.test:5002;/);
  assert.ok(!response.includes('unsafe-inline'));
});
