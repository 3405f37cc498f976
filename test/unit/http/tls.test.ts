// HTTPS, and reload of the certificate when its files change.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { readTlsPair } from '../../../node/common/tls-files.ts';
import type { HttpServer } from '../../../node/http/http-server.ts';
import { socketClosed } from '../../kit/network/listen.ts';
import { selfSigned } from '../../kit/self-signed.ts';
import { tempFolder } from '../../kit/temp-folder.ts';
import { startServer } from './server.ts';

/** The common name of the certificate of a new connection. */
async function nameOf(server: HttpServer): Promise<string> {
  const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return String(name);
}

test('HTTPS is served, and plain HTTP on the same port gets no response', async (context) => {
  const tls = selfSigned(tempFolder(context), 'first');
  const { server } = await startServer(context, { tls });
  const call = request({ port: server.port, host: '127.0.0.1', path: '/livez', rejectUnauthorized: false, agent: false });
  call.end();
  const [response] = await once(call, 'response');
  assert.equal(response.statusCode, 200);
  response.resume();
  const plain = connectPlain(server.port, '127.0.0.1');
  let text = '';
  plain.on('data', (chunk) => {
    text += String(chunk);
  });
  plain.on('error', () => {});
  plain.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n');
  await socketClosed(plain);
  assert.ok(!text.includes('200 OK'));
});

test('changed files are reloaded without a restart, and an invalid pair is logged and ignored', async (context) => {
  const folder = tempFolder(context);
  const tls = selfSigned(folder, 'first');
  const second = selfSigned(folder, 'second');
  let logged = Promise.withResolvers<string>();
  const log = pino({ level: 'info' }, { write: (line) => logged.resolve((JSON.parse(line) as { msg: string }).msg) });
  const next = async () => {
    const message = await logged.promise;
    logged = Promise.withResolvers<string>();
    return message;
  };
  const { server } = await startServer(context, { tls, log, timeouts: { watch: 20 } });
  assert.equal(await nameOf(server), 'first');
  // Atomic: a half-written file would be a separate change with a separate log line.
  await writeFile(join(folder, 'bad.crt'), 'not a certificate');
  await rename(join(folder, 'bad.crt'), tls.certPath);
  assert.match(await next(), /invalid TLS key and certificate/);
  assert.equal(await nameOf(server), 'first');
  await rename(second.certPath, tls.certPath);
  assert.match(await next(), /invalid TLS key and certificate/);
  assert.equal(await nameOf(server), 'first');
  await rename(second.keyPath, tls.keyPath);
  assert.equal(await next(), 'TLS certificate reloaded');
  assert.equal(await nameOf(server), 'second');
});

test('a key that does not match the certificate fails the start', async (context) => {
  const folder = tempFolder(context);
  const first = selfSigned(folder, 'first');
  const second = selfSigned(folder, 'second');
  assert.throws(() => readTlsPair({ keyPath: first.keyPath, certPath: second.certPath }), /mismatch/);
  await assert.rejects(startServer(context, { tls: { keyPath: first.keyPath, certPath: join(folder, 'none') } }), /ENOENT/);
});
