// Text socket: frames of one turn of the event loop in one write, and what closes it meanwhile.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { defaultLimits, type Limits } from '../../../node/signaling/limits.ts';
import { TextSocket } from '../../../node/websocket/text-socket.ts';
import { turns } from '../../kit/turns.ts';

/** A connection that records its writes. If it is `stuck`, no write completes. */
class RecordedConnection extends Duplex {
  readonly writes: Buffer[] = [];
  stuck = false;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#record([chunk], done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#record(
      chunks.map(({ chunk }) => chunk),
      done,
    );
  }

  #record(chunks: Buffer[], done: () => void): void {
    this.writes.push(Buffer.concat(chunks));
    if (!this.stuck) done();
  }
}

async function openSocket(limits: Partial<Limits> = {}) {
  const raw = new RecordedConnection();
  const lost: number[] = [];
  const headers = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const request = { method: 'GET', url: '/', headers } as unknown as IncomingMessage;
  const webSocket = await new Promise<ConstructorParameters<typeof TextSocket>[0]>((resolve) =>
    server.handleUpgrade(request, raw, Buffer.alloc(0), resolve),
  );
  const listener = { message: () => {}, lost: (code: number) => lost.push(code) };
  const socket = new TextSocket(webSocket, raw, { ...defaultLimits, ...limits }, listener);
  await turns(2);
  raw.writes.length = 0;
  return { raw, socket, lost };
}

/** An unmasked text frame of a server (RFC 6455, section 5.2). */
const textFrame = (text: string) => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);

test('frames sent in one turn leave in one write, and later ones in the next', async () => {
  const { raw, socket } = await openSocket();
  for (const text of ['one', 'two', 'three']) socket.send(text);
  assert.deepEqual(raw.writes, []);
  await turns(2);
  socket.send(Buffer.from('four'));
  await turns(2);
  assert.deepEqual(raw.writes, [Buffer.concat(['one', 'two', 'three'].map(textFrame)), textFrame('four')]);
  socket.terminate();
});

test('more than 64 KiB are written at once, so that only what the connection does not accept counts as buffered', async () => {
  const { raw, socket } = await openSocket();
  for (let count = 0; count < 70; count += 1) socket.send('x'.repeat(1024));
  assert.equal(raw.writes.length, 1);
  assert.ok(socket.bufferedBytes < 10 * 1024, `${socket.bufferedBytes} bytes`);
  socket.terminate();
});

test('a socket whose remote does not read is lost at the limit, also within one turn', async () => {
  const { raw, socket, lost } = await openSocket({ bufferedBytes: 200 * 1024 });
  raw.stuck = true;
  for (let count = 0; count < 250 && socket.open; count += 1) socket.send('x'.repeat(1024));
  assert.deepEqual(lost, [1006]);
  assert.equal(raw.destroyed, true);
});

test('a socket that is terminated in the turn of its close frame still sends that frame', async () => {
  const { raw, socket } = await openSocket();
  socket.send('last');
  socket.close('authenticationTimeout');
  socket.terminate();
  if (!raw.closed) await once(raw, 'close');
  const sent = Buffer.concat(raw.writes);
  // 4408 is 0x1138.
  assert.ok(sent.includes(textFrame('last')) && sent.includes(Buffer.from([0x11, 0x38])), sent.toString('hex'));
});
