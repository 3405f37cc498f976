// Web server with an empty page that loads the client library and client-page.ts, or another module.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { build } from 'esbuild';
import { hostAndPort } from '../../../node/config/addresses.ts';

const bundles = new Map<string, Promise<string>>();

/** Source of a module of this folder with all that it imports. */
export async function makeBundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, entry)],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

/** PEM files, and the host name of the certificate, which resolves to the address. */
export type PageTls = { host: string; cert: Buffer; key: Buffer };

/** `entry`: the module of this folder that the page runs. @returns the URL of the page; the server stops with the test */
export async function servePlainPage(
  t: Pick<TestContext, 'after'>,
  address = '127.0.0.1',
  tls?: PageTls,
  entry = 'client-page.ts',
): Promise<string> {
  const bundle = bundles.get(entry) ?? makeBundle(entry);
  bundles.set(entry, bundle);
  const script = await bundle;
  const answer: RequestListener = (request, response) => {
    const [type, body] =
      request.url === '/client.js'
        ? ['text/javascript', script]
        : ['text/html', '<!doctype html><meta charset="utf-8"><title>Test</title><script type="module" src="/client.js"></script>'];
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body);
  };
  const server = tls ? createSecureServer(tls, answer) : createServer(answer);
  server.listen(0, address);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return tls ? `https://${tls.host}:${port}/` : `http://${hostAndPort(address, port)}/`;
}
