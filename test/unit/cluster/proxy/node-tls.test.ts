// TLS between nodes: accepted certificates at internal addresses.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { type TestContext, test } from 'node:test';
import { NodeHttpClient } from '../../../../node/cluster/proxy/node-http-client.ts';
import { listen } from '../../../kit/network/listen.ts';
import { selfSigned } from '../../../kit/self-signed.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

type Pair = { key: string; cert: string };

async function makePair(t: TestContext, name: string): Promise<Pair> {
  const { keyPath, certPath } = selfSigned(tempFolder(t), name, `DNS:${name}`);
  return { key: await readFile(keyPath, 'utf8'), cert: await readFile(certPath, 'utf8') };
}

async function ask(t: TestContext, shown: Pair, own: string | undefined, address: string): Promise<number> {
  const port = await listen(
    t,
    createServer(shown, (_, response) => response.end('here')),
  );
  const http = new NodeHttpClient({ log: silentLog(), tokens: { sign: () => 'token' }, ownCertificate: () => own });
  t.after(() => http.close());
  const internalAddress = `127.0.0.1:${port}`;
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
