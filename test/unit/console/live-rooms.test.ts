// Live rooms: requests to the server while rooms with the same name are created and deleted.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Api, ApiError } from '../../../packages/console/src/api/rest.ts';
import { LiveRooms } from '../../../packages/console/src/rooms/live-rooms.ts';
import { turns } from '../../kit/turns.ts';

type Question = { answer: (incarnation: string) => void; notFound: () => void };

/** A socket that is subscribed immediately. */
class FakeSocket {
  static last: FakeSocket | undefined;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor() {
    FakeSocket.last = this;
  }

  send(): void {}

  close(): void {}

  tell(type: string, roomId: string, incarnation: string): void {
    const data = { id: `${type} ${incarnation}`, type, roomId, incarnation };
    this.onmessage?.({ data: JSON.stringify({ event: 'roomEvent', data }) });
  }
}

const roomOf = (id: string, incarnation: string) => ({ id, incarnation, externalId: null, config: {}, peers: [], components: [] });

/** LiveRooms without rooms, subscribed; responses for single rooms and timers are manual. */
async function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const before = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
  Object.defineProperty(globalThis, 'WebSocket', { value: FakeSocket, configurable: true });
  const questions: Question[] = [];
  const api = {
    base: 'http://127.0.0.1/',
    token: 'token',
    listRooms: async () => ({ rooms: [], incomplete: [] }),
    check: async () => {},
    getRoom: (roomId: string) => {
      const { promise, resolve, reject } = Promise.withResolvers();
      questions.push({
        answer: (incarnation) => resolve(roomOf(roomId, incarnation)),
        notFound: () => reject(new ApiError(404, 'room_not_found', 'Room not found')),
      });
      return promise;
    },
  } as unknown as Api;
  const rooms = new LiveRooms(api);
  t.after(() => {
    rooms.close();
    if (before) Object.defineProperty(globalThis, 'WebSocket', before);
  });
  const socket = FakeSocket.last ?? assert.fail('no socket was opened');
  socket.onopen?.();
  socket.onmessage?.({ data: JSON.stringify({ id: 2, ok: true, data: {} }) });
  const pass = async (milliseconds: number) => {
    await turns();
    t.mock.timers.tick(milliseconds);
    await turns();
  };
  await pass(3_000);
  const shown = () => rooms.state.rows?.map(({ incarnation }) => incarnation);
  return { socket, questions, pass, shown };
}

for (const answer of ['the room before', 'none'] as const) {
  test(`a room that is recreated during its request is listed if the response is ${answer}`, async (t) => {
    const { socket, questions, pass, shown } = await start(t);
    socket.tell('RoomCreated', 'r', 'one');
    await pass(300);
    assert.equal(questions.length, 1);
    socket.tell('RoomDeleted', 'r', 'one');
    socket.tell('RoomCreated', 'r', 'two');
    if (answer === 'none') questions[0]?.notFound();
    else questions[0]?.answer('one');
    await pass(300);
    assert.equal(questions.length, 2, 'the room is requested again');
    questions[1]?.answer('two');
    await pass(300);
    assert.deepEqual(shown(), ['two']);
  });
}

test('a room that ends before its request is requested once and not listed', async (t) => {
  const { socket, questions, pass, shown } = await start(t);
  socket.tell('RoomCreated', 'r', 'one');
  await pass(300);
  socket.tell('RoomDeleted', 'r', 'one');
  questions[0]?.notFound();
  await pass(10_000);
  assert.equal(questions.length, 1);
  assert.deepEqual(shown(), []);
});
