// TLS between nodes: accepted certificates at internal addresses.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { NodeHttpClient } from '../../../../node/cluster/proxy/node-http-client.ts';
import { silentLog } from '../../../../node/common/log.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

type Pair = { key: string; cert: string };

async function makePair(t: TestContext, name: string): Promise<Pair> {
  const folder = tempFolder(t);
  const files = { key: join(folder, 'key'), cert: join(folder, 'cert') };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', files.key];
  await promisify(execFile)('openssl', [
    'req',
    '-x509',
    ...key,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    '-addext',
    `subjectAltName=DNS:${name}`,
    '-out',
    files.cert,
  ]);
  return { key: await readFile(files.key, 'utf8'), cert: await readFile(files.cert, 'utf8') };
}

async function ask(t: TestContext, shown: Pair, own: string | undefined, address: string): Promise<number> {
  const server = createServer(shown, (_, response) => response.end('here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = new NodeHttpClient({ log: silentLog(), tokens: { sign: () => 'token' }, ownCertificate: () => own });
  t.after(() => {
    http.close();
    server.close();
  });
  const internalAddress = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  const answer = await http.fetch(
    { name: 'svc@b', internalAddress, address, tls: true },
    { method: 'GET', path: '/hls/r/0', headers: {}, client: '::1', signal },
  );
  answer.body?.resume();
  return answer.status;
}

test('the certificate that all nodes share is accepted regardless of its names', async (t) => {
  const pair = await makePair(t, 'media.example.com');
  assert.equal(await ask(t, pair, pair.cert, 'elsewhere.example.org:443'), 200);
});

test('any other certificate is rejected: of an unknown CA, or for another name', async (t) => {
  const [own, other] = [await makePair(t, 'media.example.com'), await makePair(t, 'media.example.com')];
  await assert.rejects(ask(t, other, own.cert, 'media.example.com'), { code: 'node_unreachable' });
  await assert.rejects(ask(t, other, undefined, 'media.example.com'), { code: 'node_unreachable' });
});
