// Real HTTP receiver of webhooks on loopback, with responses controlled by the test.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { emits, eventually } from '../eventually.ts';

export type Received = { id: string; headers: Record<string, string>; body: string; event: RoomEvent; at: number; path: string };
export type Answering = (response: ServerResponse, received: Received, count: number, request: IncomingMessage) => void;

/** Retries of a sender may take a minute. */
const timeoutMs = 120_000;

export type Receiver = {
  url: string;
  port: number;
  /** The received requests, including rejected ones. */
  received: Received[];
  /** Number of opened TCP connections. */
  connections: () => number;
  /** Changes the response to requests from now on. */
  answer: (how: Answering) => void;
  /** Resolves after this number of requests. */
  until: (count: number) => Promise<void>;
  untilTrue: (holds: (received: readonly Received[]) => boolean) => Promise<void>;
};

export const accept: Answering = (response) => void response.writeHead(204).end();
export const reject =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (response) =>
    void response.writeHead(status, headers).end('no');

export async function startReceiver(t: TestContext, how: Answering = accept, port = 0): Promise<Receiver> {
  let answer = how;
  let connections = 0;
  const received: Received[] = [];
  const events = new EventEmitter();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const headers = request.headers as Record<string, string>;
      const one = {
        id: headers['webhook-id'] ?? '',
        headers,
        body,
        event: JSON.parse(body) as RoomEvent,
        at: Date.now(),
        path: request.url ?? '',
      };
      received.push(one);
      answer(response, one, received.length, request);
      events.emit('received');
    });
  });
  server.on('connection', () => (connections += 1));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const untilTrue = async (holds: (received: readonly Received[]) => boolean) => {
    const what = () => `the receiver has the events, after ${received.length} requests`;
    await eventually(what, () => holds(received), { within: timeoutMs, wakes: emits(events, 'received') });
  };
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}/hook`,
    port: bound,
    received,
    connections: () => connections,
    answer: (next) => (answer = next),
    until: (count) => untilTrue((all) => all.length >= count),
    untilTrue,
  };
}
