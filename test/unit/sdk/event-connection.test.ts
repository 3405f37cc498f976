// Event connection of the SDK, against a scripted socket: frames, closing, and whether a retry may help.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EventConnection, type EventConnectionOptions, type ReceivedEvent } from '../../../packages/server-sdk/src/event-connection.ts';

type Frame = { id: number; method: string; data: Record<string, unknown> };

class FakeSocket {
  readonly url: string;
  readyState = 0;
  closed = false;
  readonly sent: Frame[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  onerror: (() => void) | null = null;

  constructor(url: string) {
    this.url = url;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.closed = true;
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  say(frame: unknown): void {
    this.onmessage?.({ data: typeof frame === 'string' ? frame : JSON.stringify(frame) });
  }
}

function connect(t: TestContext, options: Partial<EventConnectionOptions> = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const taken: ReceivedEvent[] = [];
  let socket = new FakeSocket('');
  class Given extends FakeSocket {
    constructor(url: string) {
      super(url);
      socket = this;
    }
  }
  const connection = new EventConnection({
    url: 'ws://host/socket',
    token: 'secret',
    webSocket: Given,
    types: undefined,
    rooms: undefined,
    cursor: undefined,
    take: (item) => taken.push(item) < 100,
    ...options,
  });
  const subscribe = (cursor = { a: 1 }, incomplete: string[] = []) => {
    socket.open();
    socket.say({ id: 1, ok: true, data: { name: 'n' } });
    socket.say({ id: 2, ok: true, data: { events: [], rooms: null, cursor, incomplete } });
  };
  return { connection, socket, taken, subscribe };
}

const event = (index: number) => ({ event: 'roomEvent', source: 'a', index, data: { type: 'RoomCreated', roomId: 'r' } });

test('an event connection authenticates, subscribes at its cursor, and delivers gaps, cursors and events in order', (t) => {
  const { socket, taken, subscribe } = connect(t, { types: ['RoomCreated'], rooms: ['r'], cursor: { a: 1, b: 7 } });
  assert.equal(socket.url, 'ws://host/socket');
  subscribe({ a: 1 }, ['b']);
  assert.deepEqual(socket.sent, [
    { id: 1, method: 'authenticate', data: { token: 'secret' } },
    { id: 2, method: 'subscribe', data: { events: ['RoomCreated'], rooms: ['r'], cursor: { a: 1, b: 7 } } },
  ]);
  socket.say(event(2));
  socket.say({ event: 'something new' });
  t.mock.timers.tick(15_000);
  const { id, method } = socket.sent[2] ?? {};
  assert.deepEqual([id, method], [3, 'ping']);
  socket.say({ id, ok: true, data: { cursor: { a: 5 } } });
  assert.deepEqual(taken, [
    { gap: ['b'] },
    { cursor: { a: 1 } },
    { event: { type: 'RoomCreated', roomId: 'r' }, source: 'a', index: 2 },
    { cursor: { a: 5 } },
  ]);
});

test('an unresponsive server times out, before and after the subscription', async (t) => {
  const early = connect(t);
  early.socket.open();
  t.mock.timers.tick(10_000);
  const { error, final, subscribed } = await early.connection.ended;
  assert.deepEqual([error.code, final, subscribed, early.socket.closed], ['connection_failed', false, false, true]);
  t.mock.timers.reset();
  const late = connect(t);
  late.subscribe();
  t.mock.timers.tick(15_000);
  t.mock.timers.tick(10_000);
  const disconnectInfo = await late.connection.ended;
  assert.deepEqual([disconnectInfo.error.code, disconnectInfo.subscribed], ['connection_failed', true]);
});

test('a rejection is final unless it is temporary', async (t) => {
  for (const [code, final] of [
    ['invalid_token', true],
    ['invalid_field', true],
    ['too_many_requests', false],
    ['unavailable', false],
  ] as const) {
    const { connection, socket } = connect(t);
    socket.open();
    socket.say({ id: 1, ok: false, error: { code, message: 'No.' } });
    const disconnectInfo = await connection.ended;
    assert.deepEqual([disconnectInfo.error.code, disconnectInfo.error.message, disconnectInfo.final], [code, 'No.', final]);
    t.mock.timers.reset();
  }
});

test('an event connection ends once: on a full buffer, an invalid frame, or with its socket', async (t) => {
  const full = connect(t, { take: (item) => !('event' in item) });
  full.subscribe();
  full.socket.say(event(2));
  assert.deepEqual([(await full.connection.ended).full, full.socket.closed], [true, true]);
  for (const end of [
    (socket: FakeSocket) => socket.say('no JSON'),
    (socket: FakeSocket) => socket.say('x'.repeat(5_000_000)),
    (socket: FakeSocket) => socket.onclose?.({ code: 4410 }),
    (socket: FakeSocket) => socket.onerror?.(),
  ]) {
    t.mock.timers.reset();
    const { connection, socket, taken, subscribe } = connect(t);
    subscribe();
    end(socket);
    const disconnectInfo = await connection.ended;
    assert.deepEqual(
      [disconnectInfo.error.code, disconnectInfo.final, disconnectInfo.full, disconnectInfo.subscribed],
      ['connection_failed', false, false, true],
    );
    socket.say(event(3));
    assert.deepEqual(taken, [{ cursor: { a: 1 } }]);
  }
});

test('without a WebSocket the constructor throws', (t) => {
  const { WebSocket } = globalThis;
  t.after(() => Object.assign(globalThis, { WebSocket }));
  Object.assign(globalThis, { WebSocket: undefined });
  assert.throws(() => connect(t, { webSocket: undefined }), /pass one as the option webSocket/);
});
