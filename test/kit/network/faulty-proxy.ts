// Faulty HTTP proxy in front of a real node: rejects requests, or loses them before or after the node has processed them.
import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** `lose`: the response is lost. `cut`: the request does not reach the node. `hang`: no response. `half`: only half of the body is sent. */
export type HttpFault = 'pass' | 'lose' | 'cut' | 'hang' | 'half' | { status: number; headers?: Record<string, string>; body?: string };

export type ProxiedRequest = { method: string; path: string; body: string; headers: IncomingMessage['headers']; at: number };

export type FaultyProxy = {
  url: string;
  /** The received requests, in order. */
  asked: ProxiedRequest[];
  /** The faults of the next requests; when they are used up, requests pass. */
  next: (...faults: HttpFault[]) => void;
  /** Holds the next matching request until `release`, which forwards it even if the client has disconnected. */
  hold: (method: string, path: string) => Held;
};

export type Held = {
  arrived: Promise<void>;
  /** @returns when the node has responded */
  release: () => Promise<void>;
};

type Holding = { method: string; path: string; exchange: PromiseWithResolvers<Exchange> };

export async function startFaultyProxy(t: TestContext, targetPort: number): Promise<FaultyProxy> {
  const asked: ProxiedRequest[] = [];
  const faults: HttpFault[] = [];
  const holdings: Holding[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const { method = '', url = '', headers } = request;
      asked.push({ method, path: url, body: body.toString(), headers, at: Date.now() });
      const exchange = { request, response, body, targetPort };
      const held = holdings.findIndex((each) => each.method === method && each.path === url);
      if (held >= 0) holdings.splice(held, 1)[0]?.exchange.resolve(exchange);
      else void fail(faults.shift() ?? 'pass', exchange);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    next: (...more) => void faults.push(...more),
    hold: (method, path) => {
      const exchange = Promise.withResolvers<Exchange>();
      holdings.push({ method, path, exchange });
      return {
        arrived: exchange.promise.then(() => undefined),
        release: async () => fail('pass', await exchange.promise),
      };
    },
  };
}

type Exchange = { request: IncomingMessage; response: ServerResponse; body: Buffer; targetPort: number };

async function fail(httpFault: HttpFault, exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  if (httpFault === 'hang') return;
  if (httpFault === 'cut') {
    request.socket.resetAndDestroy();
    return;
  }
  if (typeof httpFault === 'object') {
    response.writeHead(httpFault.status, httpFault.headers).end(httpFault.body);
    return;
  }
  const answer = await ask(exchange);
  if (httpFault === 'lose') {
    request.socket.resetAndDestroy();
    return;
  }
  response.writeHead(answer.status, answer.headers);
  if (httpFault === 'pass') response.end(answer.body);
  else response.write(answer.body.subarray(0, answer.body.length / 2), () => request.socket.resetAndDestroy());
}

async function ask({ request, body, targetPort }: Exchange) {
  const { method, url: path, headers } = request;
  const asking = forward({ host: '127.0.0.1', port: targetPort, method, path, headers });
  asking.end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) };
}
