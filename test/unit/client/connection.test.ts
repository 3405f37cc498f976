// Connection: one session over successive sockets, against a scripted server.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { Closing } from '../../../packages/client/src/closing.ts';
import { Connection, type ConnectionOptions } from '../../../packages/client/src/connection.ts';
import { RequestError, RoomClosedError, SessionLostError } from '../../../packages/client/src/errors.ts';
import type { JoinResponse, ServerEvent } from '../../../packages/client/src/generated/protocol.ts';
import { defaultTiming, type Timing, type WebSocketConstructor } from '../../../packages/client/src/options.ts';
import { emits, eventually } from '../../kit/eventually.ts';
import { freePort } from '../../kit/network/free-ports.ts';
import { assertPrompt, stopwatch } from '../../kit/promised-time.ts';
import { emptyWelcome, type FakeSocket, startFakeServer } from './fake-server.ts';

type Happening =
  | { name: 'opening' | 'lost' }
  | { name: 'welcome' | 'resumed'; welcome: JoinResponse }
  | { name: 'event'; event: ServerEvent }
  | { name: 'closed'; closing: Closing };

/** A connection that records its callbacks. */
function connectionTo(t: TestContext, urls: string[], changes: Partial<ConnectionOptions> = {}) {
  const happenings: Happening[] = [];
  const reported = new EventEmitter();
  const tell = (happening: Happening) => {
    happenings.push(happening);
    reported.emit('reported');
  };
  const timing = { ...defaultTiming, retryDelays: [0, 20, 40], ...changes.timing };
  const connection = new Connection(
    {
      urls,
      token: 'token-1',
      takeover: false,
      webSocket: WebSocket as unknown as WebSocketConstructor,
      giveUpAfter: () => undefined,
      logger: {},
      random: () => 0.5,
      ...changes,
      timing,
    },
    {
      opening: () => tell({ name: 'opening' }),
      welcome: (welcome) => tell({ name: 'welcome', welcome }),
      lost: () => tell({ name: 'lost' }),
      outage: () => {},
      resumed: (welcome) => tell({ name: 'resumed', welcome }),
      event: (event) => tell({ name: 'event', event }),
      closed: (closing) => tell({ name: 'closed', closing }),
    },
  );
  t.after(() => connection.leave());
  const until = async <Name extends Happening['name']>(name: Name, count = 1): Promise<Extract<Happening, { name: Name }>> => {
    const named = () => happenings.filter((each): each is Extract<Happening, { name: Name }> => each.name === name);
    return await eventually(`${name} ${count}`, () => named()[count - 1], { wakes: emits(reported, 'reported') });
  };
  return { connection, happenings, until };
}

/** With the first socket, on which no request was answered. */
async function connecting(t: TestContext) {
  const server = await startFakeServer(t);
  const { connection, until } = connectionTo(t, [server.url]);
  connection.connect();
  return { server, until, socket: await server.next() };
}

/** Connects and opens a session. */
async function connected(t: TestContext, changes: Partial<ConnectionOptions> = {}) {
  const server = await startFakeServer(t);
  const reported = connectionTo(t, [server.url], changes);
  reported.connection.connect();
  const socket = await server.next();
  await socket.welcome();
  await reported.until('welcome');
  return { server, socket, ...reported };
}

const methodsOf = async (socket: FakeSocket, count: number): Promise<string[]> => {
  const methods: string[] = [];
  for (let index = 0; index < count; index += 1) methods.push((await socket.next()).method);
  return methods;
};

test('requests made while a session opens are sent before the welcome', async (t) => {
  const server = await startFakeServer(t);
  const { connection, until } = connectionTo(t, [server.url]);
  connection.connect();
  await until('opening');
  const answer = connection.request('createTransport', { direction: 'recv' });
  const socket = await server.next();
  await socket.arrived(2);
  const authenticate = await socket.welcome();
  const createTransport = await socket.next();
  assert.deepEqual([authenticate.method, createTransport.method], ['authenticate', 'createTransport']);
  assert.deepEqual(authenticate.data, { token: 'token-1' });
  assert.ok(createTransport.id > authenticate.id);
  socket.answer(createTransport, { id: 'transport' });
  assert.deepEqual(await answer, { id: 'transport' });
});

test('a lost socket is resumed with the number of received frames, and only missing requests are repeated', async (t) => {
  const { server, socket, connection, until } = await connected(t);
  const first = connection.request('sendData', { label: 'a', payload: 1 });
  socket.answer(await socket.next());
  await first;
  socket.event('peerLeft', { peerId: 'x' });
  await until('event');
  const handled = connection.request('sendData', { label: 'b', payload: 2 });
  const { id: handledId } = await socket.next();
  const lacking = connection.request('sendData', { label: 'c', payload: 3 });
  socket.cut();
  await until('lost');
  const waiting = connection.request('sendData', { label: 'd', payload: 4 });
  const next = await server.next();
  const authenticate = await next.welcome({ resumed: true, lastRequest: handledId });
  assert.deepEqual(authenticate.data, { token: 'token-1', resume: 'session-1', received: 2, incarnation: 'incarnation-1' });
  next.webSocket.send(JSON.stringify({ id: handledId, ok: true, data: {} }));
  await until('resumed');
  await handled;
  const repeated = [await next.next(), await next.next()];
  assert.deepEqual(
    repeated.map(({ data }) => data.label),
    ['c', 'd'],
  );
  for (const frame of repeated) next.answer(frame);
  await Promise.all([lacking, waiting]);
});

test('the frame count continues over resumed sockets and restarts with a session', async (t) => {
  const { server, socket, until } = await connected(t);
  socket.event('activeSpeaker', { peerId: null });
  await until('event');
  socket.cut();
  const second = await server.next();
  assert.equal((await second.welcome({ resumed: true })).data.received, 1);
  second.event('activeSpeaker', { peerId: null });
  await until('event', 2);
  second.cut();
  const third = await server.next();
  assert.equal((await third.welcome({ sessionId: 'session-2' })).data.received, 2);
  await until('welcome', 2);
  third.cut();
  const fourth = await server.next();
  assert.deepEqual((await fourth.next()).data, { token: 'token-1', resume: 'session-2', received: 0, incarnation: 'incarnation-1' });
});

test('when the session is lost, its requests fail, and unsent portable requests are sent first', async (t) => {
  const { server, socket, connection, until } = await connected(t);
  const sent = connection.request('sendData', { label: 'sent', payload: 0 }, true);
  await socket.next();
  socket.cut();
  await until('lost');
  const bound = connection.request('pauseTrack', { trackId: 'old' });
  const portable = connection.request('sendData', { label: 'portable', payload: 0 }, true);
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2' });
  await assert.rejects(sent, SessionLostError);
  await assert.rejects(bound, SessionLostError);
  const frame = await next.next();
  assert.equal(frame.data.label, 'portable');
  next.answer(frame);
  await portable;
  assert.equal(next.waiting, 0);
});

for (const [code, reason, expected] of [
  [1000, 'Peer removed', { reason: 'peerRemoved', canRetry: false }],
  [1000, 'Room stopped', { reason: 'roomStopped', canRetry: false }],
  [4401, '', { reason: 'unauthorized', canRetry: false }],
  [4409, '', { reason: 'takenOver', canRetry: true }],
] as const) {
  test(`close code ${code} ${reason} closes with reason ${expected.reason}`, async (t) => {
    const { server, socket, connection, until } = await connected(t);
    const request = connection.request('getStats', {});
    socket.webSocket.close(code, reason);
    const { closing } = await until('closed');
    assert.equal(closing.code, code);
    assert.equal(closing.reason, expected.reason);
    assert.equal(closing.canRetry, expected.canRetry);
    await assert.rejects(request, RoomClosedError);
    await assert.rejects(connection.request('getStats', {}), RoomClosedError);
    assert.equal(server.opened(), 1);
  });
}

for (const code of [1001, 1011, 4408, 4429]) {
  test(`close code ${code} is not final: the session is resumed`, async (t) => {
    const { server, socket, until } = await connected(t);
    socket.webSocket.close(code);
    const next = await server.next();
    assert.equal((await next.welcome({ resumed: true })).data.resume, 'session-1');
    await until('resumed');
  });
}

for (const code of [4400, 4413]) {
  test(`after close code ${code} a new session starts, so that a rejected frame is not sent again`, async (t) => {
    const { server, socket, connection, until } = await connected(t);
    const refused = connection.request('sendData', { label: 'bad', payload: 0 }, true);
    await socket.next();
    socket.webSocket.close(code);
    await assert.rejects(refused, SessionLostError);
    const next = await server.next();
    assert.equal((await next.welcome({ sessionId: 'session-2' })).data.resume, undefined);
    await until('welcome', 2);
    assert.equal(next.waiting, 0);
  });
}

test('a rejected token closes with the message of the server', async (t) => {
  const { socket, until } = await connecting(t);
  socket.refuse(await socket.next(), 'invalid_token', 'Invalid token');
  socket.webSocket.close(4401);
  const { closing } = await until('closed');
  assert.deepEqual(closing, { reason: 'unauthorized', code: 4401, message: 'Invalid token', canRetry: false });
});

test('a temporary rejection is retried', async (t) => {
  const { server, socket, until } = await connecting(t);
  socket.refuse(await socket.next(), 'unavailable');
  socket.webSocket.close(4401);
  const next = await server.next();
  await next.welcome();
  await until('welcome');
});

test('a peer that is missing after an internal error is reported as serverError', async (t) => {
  const { server, socket, until } = await connected(t);
  socket.webSocket.close(1011, 'Internal server error');
  const next = await server.next();
  next.refuse(await next.next(), 'peer_not_found');
  next.webSocket.close(4401);
  assert.equal((await until('closed')).closing.reason, 'serverError');
});

test('a socket lost before its welcome is replaced with takeover, because the server may still hold it', async (t) => {
  const { server, socket, until } = await connecting(t);
  assert.equal((await socket.next()).data.takeover, undefined);
  socket.cut();
  const next = await server.next();
  assert.equal((await next.welcome()).data.takeover, true);
  await until('welcome');
});

test('the second URL is tried if the first does not respond, and preferred from then on', async (t) => {
  const port = await freePort();
  const server = await startFakeServer(t);
  const { connection, until } = connectionTo(t, [`ws://127.0.0.1:${port}/`, server.url]);
  connection.connect();
  await (await server.next()).welcome();
  await until('welcome');
});

/** A connection with a session, at a server that welcomes every socket; on a busy host an open one may time out. */
async function connectedByItself(t: TestContext, timing: Timing) {
  const server = await startFakeServer(t);
  const sockets: FakeSocket[] = [];
  server.prepare((socket) => {
    sockets.push(socket);
    socket.automatically('authenticate', ({ data }) => ({ ...emptyWelcome, resumed: data.resume !== undefined }));
  });
  const reported = connectionTo(t, [server.url], { timing });
  reported.connection.connect();
  await reported.until('welcome');
  return { ...reported, server, cut: () => sockets.at(-1)?.cut() };
}

test('a silently lost server delays by no more than earlier openings suggest: the next attempt uses another server', async (t) => {
  const { server, cut, until } = await connectedByItself(t, { ...defaultTiming, openTimeout: 100, retryDelays: [0] });
  const elapsed = stopwatch();
  // Accepted and never answered, like a proxy that connects to a lost address.
  server.swallow(3);
  cut();
  await until('resumed');
  const took = elapsed();
  assert.equal(server.swallowed(), 3);
  // Three attempts timed out after 100 ms each; otherwise each would have taken connectTimeout.
  assert.ok(took >= 300, `${took} ms`);
  assertPrompt('to come back', took, { promised: 300, bound: defaultTiming.connectTimeout });
});

test('attempts that hang are not started more often than others', async (t) => {
  const timing = { ...defaultTiming, openTimeout: 50, connectTimeout: 100, retryDelays: [300], resumePause: 300 };
  const { server, cut, until } = await connectedByItself(t, timing);
  const elapsed = stopwatch();
  server.swallow(3);
  cut();
  await until('resumed');
  const took = elapsed();
  assert.ok(took >= 1_150, `four times 300 ms from begin to begin, and it took ${took} ms`);
});

test('silence closes the socket, an answered ping does not', async (t) => {
  const timing = { ...defaultTiming, pingInterval: 250, silence: 5_250, retryDelays: [0] };
  const { server, socket, until, happenings } = await connected(t, { timing });
  for (let count = 0; count < 5; count += 1) {
    const ping = await socket.next();
    assert.equal(ping.method, 'ping');
    assert.equal(ping.data.received, count);
    socket.answer(ping);
  }
  assert.ok(!happenings.some(({ name }) => name === 'lost'));
  await until('lost');
  const next = await server.next();
  const authenticate = await next.welcome({ resumed: true, lastRequest: 0 });
  assert.equal(authenticate.data.received, 5);
  await until('resumed');
  assert.equal((await next.next()).method, 'ping', 'a ping of the old socket is not repeated before the first new one is due');
});

test('an updated token is used from then on', async (t) => {
  const { server, socket, until } = await connected(t);
  socket.event('tokenUpdated', { token: 'token-2' });
  await until('event');
  socket.cut();
  assert.equal((await (await server.next()).next()).data.token, 'token-2');
});

test('leave notifies the server, and no events follow', async (t) => {
  const { server, socket, connection, until } = await connected(t);
  const request = connection.request('getStats', {});
  request.catch(() => {});
  const left = connection.leave();
  assert.equal((await until('closed')).closing.reason, 'left');
  await assert.rejects(request, RoomClosedError);
  assert.deepEqual(await methodsOf(socket, 2), ['getStats', 'leave']);
  assert.equal(await socket.closed, 1000);
  await left;
  await connection.leave();
  assert.equal(server.opened(), 1);
});

test('leave during an outage cancels reconnecting', async (t) => {
  const { server, socket, connection, until } = await connected(t, {
    timing: { ...defaultTiming, retryDelays: [60_000], resumePause: 60_000 },
  });
  socket.cut();
  await until('lost');
  await connection.leave();
  assert.equal((await until('closed')).closing.reason, 'left');
  assert.equal(server.opened(), 1);
});

test('the connection closes as unreachable after the retry time', async (t) => {
  const { server, socket, until } = await connected(t, { giveUpAfter: () => 1_500 });
  server.prepare((next) => next.cut());
  socket.cut();
  const { closing } = await until('closed');
  assert.equal(closing.reason, 'unreachable');
  assert.equal(closing.canRetry, true);
  assert.ok(server.opened() > 2);
});

test('reconnecting starts at once when the network is online again', async (t) => {
  const events = new EventTarget();
  const scope = globalThis as { addEventListener?: unknown; removeEventListener?: unknown };
  Object.assign(scope, {
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
  });
  t.after(() => {
    delete scope.addEventListener;
    delete scope.removeEventListener;
  });
  const { server, socket, until } = await connected(t, { timing: { ...defaultTiming, retryDelays: [60_000], resumePause: 60_000 } });
  socket.cut();
  await until('lost');
  events.dispatchEvent(new Event('online'));
  await (await server.next()).welcome({ resumed: true });
  await until('resumed');
});

test('a request larger than the server limit is rejected locally', async (t) => {
  const { connection, socket } = await connected(t);
  const large = connection.request('sendData', { label: 'large', payload: 'ä'.repeat(140_000) });
  await assert.rejects(large, (error) => error instanceof RequestError && error.code === 'too_large');
  assert.equal(socket.waiting, 0);
});

test('a rejected request rejects with the code and message of the server', async (t) => {
  const { connection, socket } = await connected(t);
  const request = connection.request('subscribe', { trackId: 'none' });
  socket.refuse(await socket.next(), 'track_not_found', 'Track none does not exist');
  await assert.rejects(request, { name: 'RequestError', code: 'track_not_found', message: 'Track none does not exist' });
});

test('retry delays stay short while the server keeps the session', async (t) => {
  const timing = { ...defaultTiming, retryDelays: [60_000], resumePause: 10 };
  const { server, socket, until } = await connected(t, { timing });
  socket.cut();
  await until('lost');
  await (await server.next()).welcome({ resumed: true, resumeWindow: 0 });
  await until('resumed');
});
