// Fake API server with scripted responses, for rare behavior of a real one.
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type ConnectOptions, KubeClient } from '../../../../operator/kube/client.ts';
import type { KubeObject, Stored } from '../../../../operator/kube/objects.ts';
import { listen } from '../../../kit/network/listen.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { tempFolder } from '../../../kit/temp-folder.ts';

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
  /** `performance.now()` at its arrival. */
  at: number;
};
export type FakeApi = {
  port: number;
  kubeconfig: string;
  asked: Asked[];
  /** Number of connections opened so far. */
  connections: () => number;
  /** Resolves with the request number `count`, counted from 1. */
  until: (count: number) => Promise<Asked>;
  cutAll: () => void;
};

export async function startFakeApi(
  t: TestContext,
  answer: (request: Asked, response: ServerResponse) => void | Promise<void>,
): Promise<FakeApi> {
  const asked: Asked[] = [];
  const waiting = new Set<() => void>();
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://api');
      const text = Buffer.concat(chunks).toString();
      const body: unknown = text === '' ? undefined : JSON.parse(text);
      const one = {
        method: request.method ?? '',
        path: pathname,
        query: searchParams,
        headers: request.headers,
        body,
        at: performance.now(),
      };
      asked.push(one);
      for (const check of [...waiting]) check();
      void answer(one, response);
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  const port = await listen(t, server);
  const kubeconfig = join(tempFolder(t), 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(`http://127.0.0.1:${port}`)));
  return {
    port,
    kubeconfig,
    asked,
    connections: () => connections,
    cutAll: () => server.closeAllConnections(),
    until: (count) =>
      new Promise((resolve) => {
        const check = () => {
          const one = asked[count - 1];
          if (!one) return;
          waiting.delete(check);
          resolve(one);
        };
        waiting.add(check);
        check();
      }),
  };
}

export const token = 'the-token-of-the-operator';

export function kubeconfigOf(server: string) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
}

/** A client that is closed with the test. */
export async function connect(t: TestContext, options: Partial<ConnectOptions> & { kubeconfig: string }): Promise<KubeClient> {
  const defaults = { log: silentLog(), userAgent: 'mediarooms-operator/test', timeoutMs: 5000, fieldManager: 'mediarooms-operator' };
  const client = await KubeClient.connect({ ...defaults, ...options });
  t.after(() => client.close());
  return client;
}

export function json(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A Status of a failed request. */
export function status(code: number, reason: string, message: string, details?: unknown) {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, reason, code, details };
}

export function room(name: string, resourceVersion: string, more: object = {}): Stored<KubeObject> {
  const metadata = { name, namespace: 'default', uid: `uid-of-${name}`, resourceVersion, ...more };
  return { apiVersion: 'mediarooms.dev/v1alpha2', kind: 'Room', metadata };
}
