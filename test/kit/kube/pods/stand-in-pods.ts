// Stand-in pods: a kubelet whose pods are no processes but answer REST and events as media nodes do, for many pods in one process.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';
import { roomConfigOf } from '../../../../api/room.ts';
import { newIncarnation } from '../../../../node/rooms/ids.ts';
import { configKey, namesOf, nodePorts, paths, secretsKey } from '../../../../operator/clusters/names.ts';
import type { ApiServer } from '../api-server.ts';
import { Informer } from '../informer.ts';
import { claimBlock, type LoopbackBlock } from './loopback-block.ts';
import type { ApiObject, Pod } from './pod-spec.ts';
import { timeText } from './pod-status.ts';

type StoredData = ApiObject & { data?: Record<string, string> };
type StandInRoom = { id: string; incarnation: string; externalId: string | null; config: object; components: []; peers: [] };

/** Rooms keep their defaults, as on a node without settings. */
const limits = { peerDisconnectedTimeout: 120, peerlessPurgeTimeout: null } as never;

export class StandInPods {
  readonly #server: ApiServer;
  readonly #block: LoopbackBlock;
  readonly #nodes = new Map<string, StandInNode>();
  readonly #pods: Informer<Pod>;
  readonly #configMaps: Informer<StoredData>;
  readonly #secrets: Informer<StoredData>;

  private constructor(server: ApiServer, block: LoopbackBlock) {
    this.#server = server;
    this.#block = block;
    this.#pods = new Informer<Pod>(server.client, '/api/v1/pods', (now) => now && void this.#run(now));
    this.#configMaps = new Informer<StoredData>(server.client, '/api/v1/configmaps', () => {});
    this.#secrets = new Informer<StoredData>(server.client, '/api/v1/secrets', () => {});
  }

  /** Ends with the API server. */
  static async start(server: ApiServer): Promise<StandInPods> {
    const pods = new StandInPods(server, await claimBlock());
    server.beforeEnd(() => pods.#close());
    await Promise.all([pods.#configMaps, pods.#secrets, pods.#pods].map((informer) => informer.start()));
    return pods;
  }

  /** Rooms on all nodes. */
  get rooms(): number {
    return [...this.#nodes.values()].reduce((sum, { rooms }) => sum + rooms.size, 0);
  }

  async #run(pod: Pod): Promise<void> {
    const { uid, namespace, name, deletionTimestamp } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    if (deletionTimestamp !== undefined) {
      await this.#server.client.call(path, { method: 'DELETE', body: { gracePeriodSeconds: 0, preconditions: { uid } } });
      await this.#nodes.get(uid)?.close();
      this.#nodes.delete(uid);
      return;
    }
    if (this.#nodes.has(uid)) return;
    const number = this.#nodes.size + 1;
    const podIP = `127.${this.#block.number}.${1 + Math.floor(number / 250)}.${1 + (number % 250)}`;
    const node = new StandInNode(podIP, () => this.#filesOf(pod));
    this.#nodes.set(uid, node);
    await node.listen();
    const now = timeText();
    const status = {
      phase: 'Running',
      podIP,
      podIPs: [{ ip: podIP }],
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: now }],
      containerStatuses: [
        { name: 'node', image: 'stand-in', imageID: 'stand-in', ready: true, restartCount: 0, state: { running: { startedAt: now } } },
      ],
    };
    await this.#server.client.call(`${path}/status`, {
      method: 'PATCH',
      contentType: 'application/strategic-merge-patch+json',
      body: { status },
    });
  }

  /** Hashes of the mounted files, as a node reports them. */
  #filesOf({ metadata: { namespace, labels = {} } }: Pod): { name: string; sha256: string }[] {
    const { config } = namesOf(labels['mediarooms.dev/cluster'] ?? '');
    const text = this.#configMaps.get(config, namespace)?.data?.[configKey] ?? '';
    const secret = Buffer.from(this.#secrets.get(config, namespace)?.data?.[secretsKey] ?? '', 'base64');
    const hash = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
    return [
      { name: paths.config, sha256: hash(text) },
      { name: paths.secrets, sha256: hash(secret) },
    ];
  }

  async #close(): Promise<void> {
    await Promise.all([this.#pods, this.#configMaps, this.#secrets].map((informer) => informer.close()));
    await Promise.all([...this.#nodes.values()].map((node) => node.close()));
    await this.#block.dns.close();
  }
}

/** A media node that keeps rooms without peers. */
class StandInNode {
  readonly rooms = new Map<string, StandInRoom>();
  readonly #address: string;
  readonly #files: () => { name: string; sha256: string }[];
  readonly #http: Server;
  readonly #sockets: WebSocketServer;

  constructor(address: string, files: () => { name: string; sha256: string }[]) {
    this.#address = address;
    this.#files = files;
    this.#http = createServer((request, response) => void this.#answer(request, response));
    this.#sockets = new WebSocketServer({ server: this.#http });
    this.#sockets.on('connection', (socket) => {
      socket.on('message', (data) => {
        const { id } = JSON.parse(String(data));
        socket.send(JSON.stringify({ id, ok: true, data: { cursor: {} } }));
      });
    });
  }

  async listen(): Promise<void> {
    await once(this.#http.listen(nodePorts.http, this.#address), 'listening');
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname } = new URL(request.url ?? '', 'http://node');
    const { status, body } = this.#respond(request.method ?? '', pathname, Buffer.concat(chunks).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end(body === undefined ? undefined : JSON.stringify(body));
  }

  #respond(method: string, path: string, text: string): { status: number; body?: unknown } {
    const id = /^\/room\/([^/]+)$/.exec(path)?.[1];
    if (path === '/health') return { status: 200, body: { data: this.#health() } };
    if (path === '/cluster/nodes')
      return { status: 200, body: { data: [{ name: `svc@${this.#address}`, address: `${this.#address}:8080` }] } };
    if (path === '/room' && method === 'GET') return { status: 200, body: { data: [...this.rooms.values()], incomplete: [] } };
    if (path === '/room')
      return { status: 201, body: { data: { room: this.#create(JSON.parse(text)), svc_address: `${this.#address}:8080` } } };
    const room = this.rooms.get(id ?? '');
    if (!room) return { status: 404, body: { errors: `${path} does not exist`, code: 'room_not_found' } };
    if (method !== 'DELETE') return { status: 200, body: { data: room } };
    this.rooms.delete(room.id);
    return { status: 204 };
  }

  #create({ roomId, externalId, ...options }: { roomId: string; externalId?: string }): StandInRoom {
    const known = this.rooms.get(roomId);
    if (known) return known;
    const config = roomConfigOf(roomId, options as never, limits);
    const incarnation = newIncarnation();
    const room: StandInRoom = { id: roomId, incarnation, externalId: externalId ?? null, config, components: [], peers: [] };
    this.rooms.set(roomId, room);
    return room;
  }

  #health(): object {
    return {
      state: 'accepting',
      distribution: { nodesInCluster: 1 },
      load: { rooms: this.rooms.size, connectedPeers: 0, forwardedTracks: 0, streams: 0, cpu: 0, rejectedRooms: 0 },
      busy: { rooms: 0, peers: 0, calls: 0, streams: 0, recordings: 0, files: 0 },
      config: { files: this.#files(), error: null },
    };
  }
}
