// Test server: a real HTTP server on real rooms with fake media, for the tests of this folder.
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import type { HealthView } from '../../../api/health.ts';
import { operations } from '../../../api/operations/table.ts';
import { type HttpOptions, HttpServer } from '../../../node/http/http-server.ts';
import type { LocalRooms } from '../../../node/rooms/local-rooms.ts';
import { roomHandlers } from '../../../node/rooms/room-handlers.ts';
import type { Handlers } from '../../../node/rooms/services/operations.ts';
import { type ApiToken, ApiTokens } from '../../../node/rooms/tokens/api-tokens.ts';
import { SignedCalls } from '../../../node/rooms/tokens/signed-calls.ts';
import { ViewerTokens } from '../../../node/rooms/tokens/viewer-tokens.ts';
import { assertDocumented } from '../../kit/answers/answer-check.ts';
import { type ApiClient, apiClient } from '../../kit/answers/api-client.ts';
import { checkLast } from '../../kit/check-last.ts';
import { makeDispatcher, makeRouter } from '../../kit/fakes/dispatcher.ts';
import { makeRooms, type TestRooms } from '../../kit/fakes/rooms.ts';
import { makeContent } from '../../kit/media/content.ts';
import { socketClosed } from '../../kit/network/listen.ts';
import { silentLog } from '../../kit/silent-log.ts';

export const token = 'the-token-of-the-test';
export const readToken = 'a-token-that-may-read';
const tokens: ApiToken[] = [
  { name: 'main', token, scope: 'admin' },
  { name: 'dashboard', token: readToken, scope: 'read' },
];
/** Address for which requests are signed. */
export const internalAddress = 'node.test:8080';

export const health: HealthView = {
  status: 'UP',
  reason: null,
  uptime: 7,
  version: '0.7.0',
  gitCommit: 'abcdef0',
  distribution: { enabled: false, nodeStatus: 'DOWN', nodesInCluster: 0 },
  state: 'accepting',
  load: { rooms: 1, connectedPeers: 2, forwardedTracks: 4, streams: 1, cpu: 0.25, rejectedRooms: 3 },
  busy: { rooms: 1, peers: 2, calls: 0, streams: 0, recordings: 0, files: 0 },
  config: { files: [{ name: 'settings.yaml', sha256: '0'.repeat(64) }], shadowed: [], error: null },
};

const noSessions = () => Promise.reject(new ServiceError('unavailable', 'There are no encoders and players here'));
const nothingToRender = () => Promise.reject(new ServiceError('not_found', 'There are no recordings here'));

/** A cluster of one node, without webhooks and recordings. */
function clusterHandlers(rooms: LocalRooms): Partial<Handlers<typeof operations>> {
  return {
    createRoom: async ({ body }) => {
      const { created, room, address } = await rooms.createRoom(body);
      return { created, data: { room, svc_address: address } };
    },
    listRooms: async ({ query }) => {
      const { rooms: data, ...rest } = await rooms.listRooms(query);
      return { data, ...rest };
    },
    listNodes: () => [],
    getDrain: () => ({ state: 'accepting', deadline: null, defaultDeadline: 0, rooms: 0, roomsWithPeers: 0, connectedPeers: 0 }),
    drainNode: () => {},
    cancelDrain: () => {},
    getConfig: () => ({ node: 'svc@test', data: [], config: health.config, warnings: [] }),
    getWebhooks: () => ({ data: [], incomplete: [] }),
    listDeadLetters: () => ({ data: [], incomplete: [] }),
    replayDeadLetters: () => ({ data: { replayed: 0 }, incomplete: [] }),
    renderRecording: nothingToRender,
    getRender: nothingToRender,
    cancelRender: nothingToRender,
    startWhip: noSessions,
    updateWhip: noSessions,
    endWhip: noSessions,
    showWhip: () => undefined,
    showWhipSession: () => undefined,
    validateLiveKit: () => 'success',
    validateSingleLiveKit: () => 'success',
    requestLiveKit: () => ({ status: 200, json: {} }),
    startWhep: noSessions,
    updateWhep: noSessions,
    endWhep: noSessions,
    showWhep: () => undefined,
    showWhepSession: () => undefined,
  };
}

export type TestServer = TestRooms & { server: HttpServer; url: string; api: ApiClient };

export async function startServer(context: TestContext, options: Partial<HttpOptions> = {}): Promise<TestServer> {
  const rooms = makeRooms();
  const dispatcher = makeDispatcher();
  dispatcher.serve(operations, { ...roomHandlers(rooms.rooms), ...clusterHandlers(rooms.rooms) });
  // High limit, because tests use many invalid tokens.
  const apiTokens = new ApiTokens(() => tokens, 10_000);
  const server = await HttpServer.start({
    log: silentLog(),
    operations: makeRouter(dispatcher),
    registry: dispatcher,
    content: makeContent('/nonexistent'),
    viewerTokens: new ViewerTokens(['the secret of the test']),
    ip: '127.0.0.1',
    port: 0,
    host: () => 'node.test:5002',
    apiTokens,
    signedCalls: new SignedCalls({ tokens: apiTokens, address: () => internalAddress }),
    corsOrigins: () => ['*'],
    trustProxy: { hops: 0, networks: [] },
    health: async () => health,
    ready: () => true,
    consoleSession: () => ({ development: false, components: [] }),
    upgrade: () => undefined,
    ...options,
  });
  const { port } = server;
  context.after(async () => {
    await server.close(0);
    rooms.rooms.close('test over');
  });
  checkLast(context, () => assertDocumented(port));
  const url = `${options.tls ? 'https' : 'http'}://${server.address}`;
  return { ...rooms, server, url, api: apiClient(url, token) };
}

/** Sends raw bytes and reads until the server closes the connection, for requests that HTTP clients cannot send. */
export async function sendRaw(server: HttpServer, bytes: string | Buffer): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  socket.write(bytes);
  await socketClosed(socket);
  return Buffer.concat(chunks).toString();
}

/** Status and JSON body of one complete response. */
export function parseRaw(response: string): { status: number; head: string; body: { errors: string; code: string } } {
  const [head = '', body = ''] = response.split('\r\n\r\n', 2);
  return { status: Number(head.split(' ', 2)[1]), head: head.toLowerCase(), body: JSON.parse(body) as { errors: string; code: string } };
}

/** GET with a verbatim path, without the normalization of clients. */
export async function getRaw(server: HttpServer, path: string, method = 'GET'): Promise<ReturnType<typeof parseRaw>> {
  return parseRaw(
    await sendRaw(
      server,
      `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    ),
  );
}
