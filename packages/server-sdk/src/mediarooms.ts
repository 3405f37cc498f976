// Client of a Mediarooms server or cluster: REST calls by group, and the events of all rooms.

import { AccessTokens } from './access-tokens.ts';
import { Calls } from './calls.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';
import { Cluster, Components, Hls, Peers, Tracks } from './generated/methods.ts';
import type { MediaroomsOptions } from './options.ts';
import { Recordings } from './recordings.ts';
import { Rooms } from './rooms.ts';
import { Transport } from './transport.ts';
import { Webhooks } from './webhooks.ts';

/** Client of one server or cluster. Every method rejects with a MediaroomsError. */
export class Mediarooms {
  /** Signs access tokens with the option `accessKey`, without a request. */
  readonly accessTokens: AccessTokens;
  readonly rooms: Rooms;
  readonly peers: Peers;
  readonly tracks: Tracks;
  readonly components: Components;
  readonly calls: Calls;
  readonly recordings: Recordings;
  readonly hls: Hls;
  readonly cluster: Cluster;
  readonly webhooks: Webhooks;
  readonly #options: MediaroomsOptions;
  readonly #transport: Transport;

  /** @throws TypeError if a `url` is invalid */
  constructor(options: MediaroomsOptions) {
    const transport = new Transport(options);
    this.#options = options;
    this.#transport = transport;
    this.accessTokens = new AccessTokens(options.accessKey);
    this.rooms = new Rooms(transport);
    this.peers = new Peers(transport);
    this.tracks = new Tracks(transport);
    this.components = new Components(transport);
    this.calls = new Calls(transport);
    this.recordings = new Recordings(transport);
    this.hls = new Hls(transport);
    this.cluster = new Cluster(transport);
    this.webhooks = new Webhooks(transport);
  }

  /** Events of all rooms of the cluster: `for await (const event of mediarooms.events())`. Connects on the first read. */
  events(options: EventStreamOptions = {}): EventStream {
    return new EventStream(this.#transport, this.#options.webSocket, options);
  }
}
