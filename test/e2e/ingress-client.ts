// Local proxy to the Ingress, for tools that do not support the test's host name and CA.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { request as ask } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isJson } from '../kit/answers/received-answer.ts';
import { host, type Installed } from './installed.ts';

/** Forwards plain HTTP requests to the Ingress over TLS. Ends with the scope. @returns its URL */
export async function openDoor(scope: { after: (end: () => void) => void }, installed: Installed): Promise<string> {
  const tls = { host: installed.cluster.ingressAddress, port: 443, servername: host, ca: readFileSync(installed.certificates.authority) };
  const server = createServer((request, response) => {
    const { method, url: path, headers } = request;
    const forwarded = ask({ ...tls, method, path, headers: { ...headers, host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      void watch(answer, installed, method, `https://${host}${path}`);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function watch(answer: IncomingMessage, installed: Installed, method = '', url: string): Promise<void> {
  const headers = new Headers(Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]));
  const chunks: Buffer[] = [];
  if (isJson(headers)) answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  // An aborted response is left to the client.
  await once(answer, 'close').catch(() => {});
  const body = Buffer.concat(chunks).toString();
  if (answer.complete) installed.see({ method, url, status: answer.statusCode ?? 0, headers, body });
}
