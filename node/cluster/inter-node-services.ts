// Inter-node services: events, peer websockets, content, webhooks and node tokens, that is all traffic between nodes except rooms.

import type { IncomingMessage } from 'node:http';
import type { RoomEvent } from '../../api/events.ts';
import { proxiedHeader } from '../../api/node.ts';
import type { Log } from '../common/log.ts';
import type { ProxySocket } from '../rooms/proxied-socket.ts';
import type { RecordingArchive } from '../rooms/services/content.ts';
import type { LocalRenderService } from '../rooms/services/renders.ts';
import type { LocalWebhookService } from '../rooms/services/webhook-admin.ts';
import { ClusterEvents, type LocalEventFeed } from './cluster-events.ts';
import { serveRenders } from './cluster-renders.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import { serveWebhooks } from './cluster-webhooks.ts';
import type { LostEntry } from './connected-peers.ts';
import { LostRoomNotifier } from './lost-room-notifier.ts';
import type { Members } from './nodes.ts';
import { ClusterContent, type LocalContentService } from './proxy/cluster-content.ts';
import { NodeHttpClient } from './proxy/node-http-client.ts';
import { type NodeClaims, NodeTokens } from './proxy/node-tokens.ts';
import { PeerSocketProxy } from './proxy/peer-socket-proxy.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';
import type { RoomLocator } from './rpc/room-locator.ts';

export type InterNodeServicesOptions = {
  links: ClusterTransport;
  dispatcher: Dispatcher;
  log: Log;
  events: LocalEventFeed;
  content: LocalContentService;
  renders: LocalRenderService;
  /** Recordings that exist only in S3. */
  archive?: RecordingArchive | undefined;
  /** SVC_SECRET_KEY_BASE: the first secret signs, all verify. */
  secrets: readonly string[];
  cookie: string;
  locator: Pick<RoomLocator, 'ownerOf' | 'locate'>;
  members: Pick<Members, 'get'>;
  webhooks: LocalWebhookService;
  /** A room was lost with its node, and this node was chosen to notify its webhook receivers. */
  onRoomLost?: ((event: RoomEvent, webhookUrl: string | null) => void) | undefined;
  /** PEM of this node's certificate. */
  ownCertificate?: (() => string | undefined) | undefined;
};

export class InterNodeServices {
  readonly events: ClusterEvents;
  readonly content: ClusterContent;
  readonly #lostRoomNotifier: LostRoomNotifier;
  readonly #tokens: NodeTokens;
  readonly #sockets: PeerSocketProxy;
  readonly #http: NodeHttpClient;

  constructor(options: InterNodeServicesOptions) {
    const { links, dispatcher, log, secrets, cookie, ownCertificate, members, locator } = options;
    this.#lostRoomNotifier = new LostRoomNotifier({ links, tell: ({ event, webhookUrl }) => options.onRoomLost?.(event, webhookUrl) });
    this.events = new ClusterEvents({ links, dispatcher, own: options.events, log });
    this.#tokens = new NodeTokens({ links, dispatcher, secrets, cookie });
    this.#http = new NodeHttpClient({ log, tokens: this.#tokens, ownCertificate });
    this.content = new ClusterContent({
      links,
      dispatcher,
      local: options.content,
      archive: options.archive,
      http: this.#http,
      log,
      locator,
      members,
    });
    serveRenders({ dispatcher, own: options.renders, locate: (id) => this.content.locate('recording', id) });
    serveWebhooks({ dispatcher, log, own: options.webhooks });
    this.#sockets = new PeerSocketProxy({
      log,
      tokens: this.#tokens,
      ownCertificate,
      locate: async (roomId) => {
        const owner = await locator.locate(roomId);
        if (owner === undefined || owner === links.self) return undefined;
        links.suspect(owner);
        return members.get(owner);
      },
    });
  }

  /** For PeerSockets. */
  readonly forward: ProxySocket = (roomId, socket) => this.#sockets.forward(roomId, socket);

  /** For PeerSockets: the address of the client if another node proxies the websocket. */
  readonly forwardedFor = (request: IncomingMessage): string | undefined =>
    this.forwardedBy(request.headers[proxiedHeader], request.url?.split('?', 1)[0] ?? '')?.client;

  /** For HTTP: the node and client of a proxied request. */
  readonly forwardedBy = (header: string | string[] | undefined, path: string): NodeClaims | undefined =>
    header === undefined ? undefined : this.#tokens.verify(header, path);

  secretsChanged(secrets: readonly string[]): void {
    this.#tokens.replace(secrets);
  }

  nodeUp(node: NodeName): void {
    this.#tokens.nodeUp(node);
    this.events.nodeUp(node);
  }

  nodeDown(node: NodeName): void {
    this.#sockets.nodeDown(node);
    this.#http.nodeDown(node);
    this.#tokens.nodeDown(node);
    this.events.nodeDown(node);
    this.#lostRoomNotifier.nodeDown(node);
  }

  roomsLost(node: NodeName, entries: readonly LostEntry[]): void {
    const lost = entries.flatMap((entry) => this.events.roomLost(node, entry).map((event) => ({ event, webhookUrl: entry.webhookUrl })));
    this.#lostRoomNotifier.lost(lost);
  }

  /** Closes proxied websockets with code 1001. Resolves when all are closed. Idempotent. */
  async closeForwarding(): Promise<void> {
    this.#http.close();
    await this.#sockets.close();
  }
}
