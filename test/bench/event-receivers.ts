// Event receivers of a benchmark: `node event-receivers.ts URL TOKEN SOCKETS EVENTS`. Sends a message to its parent when all sockets are
// subscribed, and another one when each has received that many events. It does not parse them.
import { once } from 'node:events';
import { WebSocket } from 'ws';

const [url = '', token = '', sockets, events] = process.argv.slice(2);

async function request(socket: WebSocket, id: number, method: string, data: object): Promise<void> {
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ id, method, data }));
  await answered;
}

async function subscribe(): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await once(socket, 'open');
  await request(socket, 1, 'authenticate', { token });
  await request(socket, 2, 'subscribe', { events: 'all' });
  return socket;
}

function receive(socket: WebSocket): Promise<void> {
  let missing = Number(events);
  return new Promise((resolve) => {
    socket.on('message', () => {
      missing -= 1;
      if (missing === 0) resolve();
    });
  });
}

const subscribed = await Promise.all(Array.from({ length: Number(sockets) }, subscribe));
const received = subscribed.map(receive);
process.send?.('subscribed');
await Promise.all(received);
process.send?.('received');
