// Cluster event stream: sends local events to the other nodes and delivers remote events to local listeners, in order and without gaps.
import type { z } from 'zod';
import { ServiceError } from '../../api/errors.ts';
import { type RoomEvent, roomEventSchema } from '../../api/events.ts';
import { eventBatchSchema, eventPositionSchema, nodeRpcs, type RawEventPage } from '../../api/operations/node-rpcs.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import type { EventCursor, EventFeed, EventPage, SourcedEvent, SourcedEventListener } from '../rooms/event-feed.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import type { LostEntry } from './connected-peers.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';

/** Delay before a failed node is requested again, in milliseconds. */
const retryDelay = 1_000;
/** Maximum number of sources whose position is kept. The oldest disconnected sources are dropped first. */
const maxSources = 1_000;

/** Event feed of this node. */
export interface LocalEventFeed extends EventFeed {
  readonly source: string;
  readonly last: number;
  after(index: number, limit?: number): EventPage;
}

/** `last`: index of the last event published here; `target`: highest known index. */
type Source = { id: string; last: number; target: number; catchingUp: boolean; retry: Timer | undefined };

export type ClusterEventsOptions = {
  links: ClusterTransport;
  dispatcher: Dispatcher;
  own: LocalEventFeed;
  log: Log;
  /** Milliseconds since the start of this node. */
  uptime?: () => number;
};

export class ClusterEvents implements EventFeed {
  readonly #options: ClusterEventsOptions;
  readonly #uptime: () => number;
  readonly #listeners = new Set<SourcedEventListener>();
  /**
   * Current incarnation of each node. It is kept while the node is disconnected, so that no event is missed or delivered twice after a
   * reconnect.
   */
  readonly #sources = new Map<NodeName, Source>();
  readonly #stopOwn: () => void;
  #announced: number;
  #scheduled = false;
  #closed = false;

  constructor(options: ClusterEventsOptions) {
    this.#options = options;
    this.#uptime = options.uptime ?? (() => performance.now());
    this.#announced = options.own.last;
    const { dispatcher } = options;
    dispatcher.serve(nodeRpcs, { eventsSince: (asked) => this.#localPage(asked) });
    dispatcher.receive('events', eventBatchSchema, (from, batch) => this.#take(from, batch));
    dispatcher.receive('eventsAt', eventPositionSchema, (from, position) => this.#meet(from, position));
    this.#stopOwn = options.own.subscribe((sourced) => {
      this.#publish(sourced);
      this.#schedule();
    });
  }

  subscribe(listener: SourcedEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  cursor(): EventCursor {
    const cursor = this.#options.own.cursor();
    for (const node of this.#options.links.nodes()) {
      const known = this.#sources.get(node);
      if (known) cursor[known.id] = known.last;
    }
    return cursor;
  }

  async since(id: string, index: number, limit?: number): Promise<EventPage | undefined> {
    const { own, links } = this.#options;
    if (id === own.source) return own.after(index, limit);
    const node = links.nodes().find((each) => this.#sources.get(each)?.id === id);
    return node === undefined ? undefined : this.#ask(node, id, index, limit);
  }

  /** Sends the current position to the other node. Pending events follow in order. */
  nodeUp(node: NodeName): void {
    const stand = { source: this.#options.own.source, index: this.#announced, uptime: this.#uptime() };
    this.#options.links.cast(node, 'eventsAt', stand);
    // The position of the remote node may have arrived before the connection was reported here.
    const known = this.#sources.get(node);
    if (known) void this.#catchUp(node, known);
  }

  nodeDown(node: NodeName): void {
    this.#sources.get(node)?.retry?.stop();
  }

  /**
   * A room was lost with its node: emits PeerDisconnected for its connected peers, then RoomCrashed. Each node emits them to local
   * listeners only, so that each listener receives them once. They have no seq and no index in the log of the lost node. Their ids are the
   * same on every node.
   */
  roomLost(node: NodeName, { id: roomId, incarnation, connected }: Pick<LostEntry, 'id' | 'incarnation' | 'connected'>): RoomEvent[] {
    const known = this.#sources.get(node);
    const time = new Date().toISOString();
    const common = { time, node, incarnation, roomId };
    const id = `${incarnation}-lost`;
    const events: RoomEvent[] = [
      ...connected.map((peerId) => ({ ...common, id: `${id}-${peerId}`, type: 'PeerDisconnected' as const, peerId })),
      { ...common, id, type: 'RoomCrashed', reason: 'node_lost' },
    ];
    for (const event of events) this.#publish({ source: known?.id ?? `${node}#`, index: known?.last ?? 0, event });
    return events;
  }

  /** Sends pending events, then stops. Idempotent. */
  close(): void {
    if (!this.#closed) this.#tell();
    this.#closed = true;
    this.#stopOwn();
    this.#listeners.clear();
    for (const { retry } of this.#sources.values()) retry?.stop();
  }

  #localPage(asked: { source: string; index: number; limit?: number | undefined }): RawEventPage {
    const { own } = this.#options;
    if (asked.source !== own.source) throw new ServiceError('not_found', `Node ${this.#options.links.self} has restarted since`);
    const page = own.after(asked.index, asked.limit);
    return { source: own.source, from: page.from, events: page.events.map(({ event }) => event), last: page.last, missing: page.missing };
  }

  /** One batch for all events of one turn of the event loop. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#closed) this.#tell();
    });
  }

  #tell(): void {
    const { own, links } = this.#options;
    for (let page = own.after(this.#announced); page.events.length > 0; page = own.after(this.#announced)) {
      const batch = { source: own.source, from: page.from, events: page.events.map(({ event }) => event) };
      for (const node of links.nodes()) links.cast(node, 'events', batch);
      this.#announced = page.upTo;
    }
  }

  /**
   * If this node is older than the remote one, it needs all events of that node; otherwise only those from now on. After a lost connection
   * both continue at their last position.
   */
  #meet(from: NodeName, stand: z.infer<typeof eventPositionSchema>): void {
    const since = stand.uptime <= this.#uptime() ? 0 : stand.index;
    const known = this.#sourceOf(from, stand.source, since);
    known.target = Math.max(known.target, stand.index);
    void this.#catchUp(from, known);
  }

  #take(from: NodeName, batch: z.infer<typeof eventBatchSchema>): void {
    const known = this.#sourceOf(from, batch.source, batch.from);
    known.target = Math.max(known.target, batch.from + batch.events.length);
    if (known.catchingUp || batch.from > known.last) void this.#catchUp(from, known);
    else this.#publishAll(known, batch.from, batch.events);
  }

  #sourceOf(node: NodeName, id: string, since: number): Source {
    if (!id.startsWith(`${node}#`)) throw new Error(`node ${node} sent events of source ${id}`);
    const known = this.#sources.get(node);
    if (known?.id === id) return known;
    known?.retry?.stop();
    const fresh: Source = { id, last: since, target: since, catchingUp: false, retry: undefined };
    this.#sources.set(node, fresh);
    if (this.#sources.size > maxSources) {
      const connected = new Set(this.#options.links.nodes());
      const lost = [...this.#sources.keys()].find((each) => !connected.has(each));
      if (lost !== undefined) this.#sources.delete(lost);
    }
    return fresh;
  }

  /** Requests missing events until all known events are published. Events that arrive meanwhile only raise the target. */
  async #catchUp(node: NodeName, known: Source): Promise<void> {
    if (known.catchingUp) return;
    known.catchingUp = true;
    known.retry?.stop();
    try {
      while (known.last < known.target && this.#isCurrent(node, known)) {
        const { target } = known;
        const page = await this.#askRaw(node, known.id, known.last);
        if (!this.#isCurrent(node, known)) break;
        if (page.missing) this.#options.log.warn({ node, from: known.last, to: page.from }, 'events of remote node lost (log truncated)');
        known.last = Math.max(known.last, page.from);
        known.target = Math.max(known.target, page.last);
        this.#publishAll(known, page.from, page.events);
        // The node has no more events, unless the target rose during the request.
        if (page.events.length === 0 && known.target === target) known.target = known.last;
      }
    } catch (error) {
      this.#options.log.info({ node, err: error }, 'could not fetch events of remote node');
      if (this.#isCurrent(node, known)) known.retry = new Timer(retryDelay, () => void this.#catchUp(node, known));
    } finally {
      known.catchingUp = false;
    }
  }

  #isCurrent(node: NodeName, known: Source): boolean {
    return !this.#closed && this.#sources.get(node) === known && this.#options.links.nodes().includes(node);
  }

  #publishAll(known: Source, from: number, batch: readonly unknown[]): void {
    for (const [offset, each] of batch.entries()) {
      const index = from + offset + 1;
      if (index <= known.last) continue;
      known.last = index;
      const sourced = this.#read(known.id, index, each);
      if (sourced) this.#publish(sourced);
    }
  }

  #read(id: string, index: number, value: unknown): SourcedEvent | undefined {
    const event = roomEventSchema.safeParse(value);
    if (event.success) return { source: id, index, event: event.data };
    this.#options.log.warn({ source: id, index, err: event.error }, 'could not parse event of remote node');
    return undefined;
  }

  #publish(sourced: SourcedEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(sourced);
      } catch (error) {
        this.#options.log.error({ err: error, event: sourced.event.type }, 'event listener failed');
      }
    }
  }

  async #ask(node: NodeName, id: string, index: number, limit?: number): Promise<EventPage> {
    const page = await this.#askRaw(node, id, index, limit);
    const read = page.events.flatMap((each, offset) => this.#read(id, page.from + offset + 1, each) ?? []);
    return { from: page.from, upTo: page.from + page.events.length, events: read, last: page.last, missing: page.missing };
  }

  async #askRaw(node: NodeName, id: string, index: number, limit?: number): Promise<RawEventPage> {
    const asked = { source: id, index, ...(limit !== undefined && { limit }) };
    const page = await this.#options.dispatcher.at(node, nodeRpcs.eventsSince, asked);
    if (page.source === id) return page;
    throw new ServiceError('node_unreachable', `Invalid response from node ${node}`);
  }
}
