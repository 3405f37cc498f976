// Webhooks: post events of local rooms to the receivers of the room and of the cluster, at least once and in order.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { traceparentHeader } from '../../../api/core/traceparent.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { RoomEvent } from '../../../api/events.ts';
import type { nodeMetrics, Readings } from '../../../api/metrics.ts';
import { type Tracer, traced } from '../../../tracing/spans.ts';
import type { Log } from '../../common/log.ts';
import type { WebhookForm } from '../../rooms/services/webhook-form.ts';
import type { DeadLetter, DeadLetterFilter } from './dead-letters.ts';
import type { Delivery, NewDelivery } from './delivery.ts';
import { type DeliveryResult, Dispatcher, type DispatcherOptions, type ReceiverState } from './dispatcher.ts';
import { parseBatch, toBatches } from './handover.ts';
import { isLiveKitReceiver, livekitBody, livekitReceiver, livekitText } from './livekit-deliveries.ts';
import type { OrphanedDeliveries } from './orphaned-spools.ts';
import { PendingDeliveries } from './pending.ts';
import { sign } from './signature.ts';
import type { WebhookStore } from './store.ts';
import { type DeliveryResponse, WebhookClient, type WebhookClientOptions } from './webhook-client.ts';

/** Batch size when deliveries of another node are taken over, so that other work of this node can run in between. */
const atOnce = 500;

/** `maxAge` in milliseconds; the first of `secrets` is the newest. */
export type WebhookSettings = {
  urls: readonly string[];
  /** Receivers of LiveKit's form. */
  livekitUrls: readonly string[];
  secrets: readonly string[];
  maxAge: number;
  allowPrivate: boolean;
  pendingMaxBytes: number;
};

export type WebhooksOptions = {
  log: Log;
  /** Returns the current settings. */
  settings: () => WebhookSettings;
  userAgent: string;
  tracer?: Tracer;
  /** Without a store deliveries are only in memory. Closed together with the webhooks. */
  store?: WebhookStore | undefined;
  poster?: Partial<Pick<WebhookClientOptions, 'deadline' | 'lookup' | 'ca'>>;
  dispatcher?: Pick<DispatcherOptions, 'delay' | 'now'>;
};

export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #webhookClient: WebhookClient;
  readonly #dispatcher: Dispatcher;
  readonly #pending = new PendingDeliveries();
  /** Incarnations of local rooms. */
  readonly #rooms = new Set<string>();
  readonly #counters = { delivered: 0, retries: 0, dead: 0 };
  #last = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  #warnedUnsigned = false;
  #closed = false;
  #livekit: WebhookForm | undefined;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#webhookClient = new WebhookClient({
      allowPrivate: () => options.settings().allowPrivate,
      userAgent: options.userAgent,
      ...options.poster,
    });
    this.#dispatcher = new Dispatcher({
      post: (delivery) => this.#post(delivery),
      settled: (delivery, deliveryResult) => this.#settled(delivery, deliveryResult),
      failed: ({ url, roomId, eventId, attempts }, why, delay) => {
        this.#counters.retries += 1;
        options.log.info({ receiver: redactUrl(url), roomId, event: eventId, attempts, why, delay }, 'webhook failed, will retry');
      },
      maxAge: () => options.settings().maxAge,
      lives: (incarnation) => this.#rooms.has(incarnation),
      ...options.dispatcher,
    });
    this.#recover();
    options.store?.takeOver((left) => this.#takeOver(left));
  }

  /** Receivers of LiveKit's form get the events from now on. */
  setLiveKitForm(form: WebhookForm): void {
    this.#livekit = form;
  }

  /** Accepts an event of a room with the receiver `roomUrl`. `trace`: traceparent of its cause. */
  publish(event: RoomEvent, roomUrl: string | null, trace?: string): void {
    if (this.#closed) return;
    const { roomId, incarnation, id: eventId } = event;
    const isLast = event.type === 'RoomDeleted' || event.type === 'RoomCrashed';
    // An event without seq may arrive after the end of its room.
    if (event.seq !== undefined) this.#rooms.add(incarnation);
    if (isLast) this.#rooms.delete(incarnation);
    const { urls: all, livekitUrls } = this.#options.settings();
    const urls = new Set(all);
    if (roomUrl !== null) urls.add(roomUrl);
    const add = (receivers: Iterable<string>, body: string) => {
      const at = Date.parse(event.time);
      for (const url of receivers) this.#add({ url, roomId, incarnation, eventId, at, body, ...(trace !== undefined && { trace }) });
    };
    if (urls.size > 0) add(urls, JSON.stringify(event));
    const converted = livekitUrls.length > 0 ? this.#livekit?.convert(event) : undefined;
    if (converted) add(new Set(livekitUrls.map(livekitReceiver)), livekitBody(event, converted));
    if (isLast) this.#dispatcher.forget410(roomId, incarnation);
  }

  /** Since the start of the node; `pending`, `pendingBytes` and `spoolBytes` are current values. */
  counters(): Readings<typeof nodeMetrics.webhooks> {
    const { store } = this.#options;
    return {
      ...this.#counters,
      pending: this.#pending.size,
      pendingBytes: this.#pending.bytes,
      spoolErrors: store?.spool.errors ?? 0,
      spoolBytes: store?.spool.bytes ?? 0,
    };
  }

  /**
   * Accepts deliveries handed over by another node. They are spooled when this returns. @throws Error if they are invalid or this node is
   * shutting down too.
   */
  take(data: unknown): number {
    if (this.#closed) throw new ServiceError('unavailable', 'This node is shutting down');
    const batch = parseBatch(data);
    for (const delivery of batch) this.#add(delivery);
    return batch.length;
  }

  /**
   * Accepts no more events, tries to deliver the pending ones for `deadline` milliseconds, hands the rest to `handOver` (which may throw)
   * and stops. Deliveries that were not accepted stay in the spool. Idempotent.
   */
  async close(deadline: number, handOver?: (batch: unknown) => Promise<void>): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#pending.size > 0) {
      this.#idle = Promise.withResolvers<void>();
      this.#dispatcher.hurry();
      const timer = setTimeout(() => this.#idle?.resolve(), deadline);
      await this.#idle.promise;
      clearTimeout(timer);
    }
    this.#dispatcher.close();
    this.#webhookClient.close();
    const { log, store } = this.#options;
    if (handOver) await this.#handOver(handOver);
    if (this.#pending.size > 0)
      log.warn({ pending: this.#pending.size, spooled: store !== undefined }, 'some webhooks were not delivered before shutdown');
    await store?.close();
  }

  /** Dead letters of this node, newest first. */
  deadLetters(filter: DeadLetterFilter, limit: number): DeadLetter[] {
    return this.#options.store?.dead.list(filter, limit) ?? [];
  }

  /** Delivers dead letters again, as if they had just occurred. @returns their number. */
  replay(filter: DeadLetterFilter): number {
    const send = ({ url, roomId, incarnation, eventId, body }: DeadLetter) => {
      this.#dispatcher.forget410(roomId, incarnation);
      this.#add({ url, roomId, incarnation, eventId, at: Date.now(), body });
    };
    return this.#options.store?.dead.replay(filter, send) ?? 0;
  }

  /** Receivers with pending deliveries on this node, then receivers of the whole cluster without any. */
  receivers(): ReceiverState[] {
    const waiting = this.#dispatcher.receivers();
    const { urls, livekitUrls } = this.#options.settings();
    const idle = [...urls, ...livekitUrls.map(livekitReceiver)].filter((url) => !waiting.some((receiver) => receiver.url === url));
    return [...waiting, ...idle.map((url) => ({ url, pending: 0, rooms: 0, failing: false }))];
  }

  async #handOver(handOver: (batch: unknown) => Promise<void>): Promise<void> {
    const before = this.#pending.size;
    try {
      for (const { deliveries, message } of toBatches([...this.#pending.values()])) {
        await handOver(message);
        for (const delivery of deliveries) this.#forget(delivery);
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, 'could not hand over webhooks');
    }
    if (this.#pending.size < before) this.#options.log.info({ count: before - this.#pending.size }, 'webhooks handed over to another node');
  }

  #recover(): void {
    const { log, store } = this.#options;
    if (!store) return;
    const { pending, last } = store.recovered;
    this.#last = last;
    for (const delivery of pending) this.#enqueue(delivery);
    if (pending.length > 0) log.info({ pending: pending.length, folder: store.folder }, 'delivering webhooks of previous run');
  }

  /**
   * The orphaned deliveries are spooled here before the other spool is deleted: after a kill in between they are delivered twice, with the
   * same ids.
   */
  async #takeOver({ pending, dead }: OrphanedDeliveries): Promise<'spooled' | 'memory' | 'refused'> {
    const { store } = this.#options;
    for (const [index, { url, roomId, incarnation, eventId, at, body }] of pending.entries()) {
      if (index % atOnce === 0) await nextTurn();
      if (this.#closed || !store) return 'refused';
      this.#add({ url, roomId, incarnation, eventId, at, body });
    }
    for (const letter of dead) store?.dead.append(letter);
    return (await store?.spool.synced()) ? 'spooled' : 'memory';
  }

  #add(fresh: NewDelivery): void {
    this.#last += 1;
    const delivery: Delivery = { ...fresh, n: this.#last, attempts: 0 };
    this.#options.store?.spool.add(delivery);
    this.#enqueue(delivery);
  }

  #enqueue(delivery: Delivery): void {
    this.#pending.add(delivery);
    this.#dispatcher.add(delivery);
    const { pendingMaxBytes } = this.#options.settings();
    const next = () => this.#pending.excess(delivery.roomId, pendingMaxBytes);
    for (let excess = next(); excess; excess = next()) {
      this.#dispatcher.remove(excess);
      this.#settled(excess, { delivered: false, deadReason: 'more deliveries of its room are pending than SVC_PENDING_MAX_BYTES allows' });
    }
  }

  #post(delivery: Delivery): Promise<DeliveryResponse> {
    const { url, eventId, trace, attempts } = delivery;
    const span = this.#options.tracer?.start('deliver webhook', 'client', {
      parent: trace,
      attributes: { 'server.address': redactUrl(url), 'mediarooms.event.id': eventId, 'http.request.resend_count': attempts },
    });
    const nameOf = (error: unknown) => (error instanceof Error ? error.name : 'error');
    return traced(span, nameOf, async () => {
      const answer = await this.#request(delivery, span?.traceparent);
      span?.set({ 'http.response.status_code': answer.status });
      return answer;
    });
  }

  async #request({ url, eventId, body }: Delivery, traceparent: string | undefined): Promise<DeliveryResponse> {
    const traced = traceparent !== undefined && { [traceparentHeader]: traceparent };
    if (isLiveKitReceiver(url)) {
      if (!this.#livekit) throw new Error('this node has no webhooks of LiveKit (SVC_LIVEKIT_ENABLED)');
      const text = livekitText(body);
      return this.#webhookClient.post(url, { ...(await this.#livekit.headers(text)), ...traced }, text);
    }
    const { secrets } = this.#options.settings();
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = sign(secrets, eventId, timestamp, body);
    if (signature === undefined && !this.#warnedUnsigned) {
      this.#warnedUnsigned = true;
      this.#options.log.warn('webhooks are not signed: SVC_WEBHOOK_SECRET is not set');
    }
    const headers = {
      'webhook-id': eventId,
      'webhook-timestamp': String(timestamp),
      ...(signature !== undefined && { 'webhook-signature': signature }),
      ...traced,
    };
    return this.#webhookClient.post(url, headers, body);
  }

  #settled(delivery: Delivery, deliveryResult: DeliveryResult): void {
    if (!this.#pending.has(delivery)) return;
    if (deliveryResult.delivered) this.#counters.delivered += 1;
    else this.#giveUp(delivery, deliveryResult.deadReason);
    this.#forget(delivery);
    if (this.#pending.size === 0) this.#idle?.resolve();
  }

  #forget(delivery: Delivery): void {
    if (this.#pending.delete(delivery)) this.#options.store?.spool.done(delivery.n);
  }

  #giveUp(delivery: Delivery, reason: string): void {
    const { url, roomId, eventId, attempts } = delivery;
    this.#counters.dead += 1;
    this.#options.store?.dead.add(delivery, reason);
    this.#options.log.error({ receiver: redactUrl(url), roomId, event: eventId, attempts, reason }, 'webhook failed permanently');
  }
}

/** A receiver for logs and responses: the part after the host often contains a key. */
export function redactUrl(url: string): string {
  return URL.parse(url)?.origin ?? 'not a URL';
}
