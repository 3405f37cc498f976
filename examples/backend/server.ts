// Backend: issues peer tokens, and receives events of its rooms by webhook.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Mediarooms, MediaroomsError, WebhookVerifier } from '@mediarooms/server';

const { SVC_URL = 'http://127.0.0.1:5002', SVC_SERVER_API_TOKEN = '', WEBHOOK_SECRET, PORT = '3000' } = process.env;
const mediarooms = new Mediarooms({ url: SVC_URL, token: SVC_SERVER_API_TOKEN });
const webhooks = WEBHOOK_SECRET ? new WebhookVerifier({ secrets: WEBHOOK_SECRET }) : undefined;

/** The first request creates the room; its externalId makes creation idempotent. */
async function join({ roomId, name }: { roomId: string; name: string }) {
  await mediarooms.rooms.create({ roomId, externalId: roomId, peerlessPurgeTimeout: 600, webhookUrl: `${address()}/hooks` });
  const { token, peer_websocket_url: url } = await mediarooms.peers.add(roomId, { metadata: { name } });
  return { url, token };
}

async function hear(body: Buffer, headers: IncomingMessage['headers']) {
  if (!webhooks) throw new MediaroomsError({ status: 503, code: 'unavailable', message: 'WEBHOOK_SECRET is not set' });
  const { event } = await webhooks.verify(body, headers);
  if (event.type === 'PeerAdded') console.log(`${JSON.stringify(event.metadata)} may join ${event.roomId}`);
  else console.log(`${event.type} in ${event.roomId}`);
}

async function read(request: IncomingMessage, limit = 64 * 1024) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > limit) throw new MediaroomsError({ status: 413, code: 'too_large', message: 'The body is too large' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const server = createServer(async (request, response) => {
  const answer = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  try {
    const body = await read(request);
    if (request.method !== 'POST') answer(405, { error: 'Expected POST' });
    // Authenticate and authorize the user here.
    else if (request.url === '/join') answer(200, await join(JSON.parse(body.toString())));
    else if (request.url === '/hooks') answer(200, (await hear(body, request.headers)) ?? {});
    else answer(404, { error: 'Not found' });
  } catch (error) {
    const refused = error instanceof MediaroomsError;
    if (!refused) console.error(error);
    answer((refused && error.status) || 400, { error: refused ? error.message : 'Request failed' });
  }
});
const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Backend at ${address()}`));
