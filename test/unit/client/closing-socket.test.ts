// Closing socket: frames are not sent into it, and requests use the next socket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection } from '../../../packages/client/src/connection.ts';
import { defaultTiming, type WebSocketConstructor } from '../../../packages/client/src/options.ts';
import { startFakeServer } from './fake-server.ts';

test('a request and a leave are not sent into a closing socket, and the request is answered over the next one', async (t) => {
  const sockets: WebSocket[] = [];
  const sentInto: number[] = [];
  class Watched extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
    override send(data: string): void {
      sentInto.push(this.readyState);
      super.send(data);
    }
  }
  const server = await startFakeServer(t);
  const welcomed = Promise.withResolvers<void>();
  const connection = new Connection(
    {
      urls: [server.url],
      token: 'token-1',
      takeover: false,
      webSocket: Watched as unknown as WebSocketConstructor,
      timing: { ...defaultTiming, retryDelays: [0] },
      giveUpAfter: () => undefined,
      logger: {},
    },
    {
      opening: () => {},
      welcome: () => welcomed.resolve(),
      lost: () => {},
      outage: () => {},
      resumed: () => {},
      event: () => {},
      closed: () => {},
    },
  );
  t.after(() => connection.leave());
  connection.connect();
  await (await server.next()).welcome();
  await welcomed.promise;
  const before = sentInto.length;
  sockets[0]?.close();
  assert.equal(sockets[0]?.readyState, WebSocket.CLOSING);
  const answer = connection.request('sendData', { label: 'a', payload: 1 });
  assert.equal(sentInto.length, before);
  const second = await server.next();
  await second.welcome({ resumed: true, lastRequest: -1 });
  const frame = await second.next();
  assert.deepEqual(frame.data, { label: 'a', payload: 1 });
  second.answer(frame);
  assert.deepEqual(await answer, {});
  sockets[1]?.close();
  await connection.leave();
  assert.deepEqual(new Set(sentInto), new Set([WebSocket.OPEN]));
});
