// Webhook dispatcher: one queue per receiver and room, in order, with backoff. A slow receiver does not delay others.

import { ForbiddenAddressError } from '../../common/guarded-agents.ts';
import { Timer } from '../../common/timer.ts';
import type { Delivery } from './delivery.ts';
import { retryDelay } from './retry-delay.ts';
import type { DeliveryResponse } from './webhook-client.ts';

/**
 * Concurrent requests to one receiver, and to all. A receiver gets one until it responds, so that hanging receivers leave capacity for
 * others.
 */
const perReceiver = 8;
const overall = 128;

/** Maximum characters of a stored error message. */
const maxProblem = 500;

/** `dead`: the delivery failed permanently, and why. */
export type DeliveryResult = { delivered: true } | { delivered: false; deadReason: string };

export type DispatcherOptions = {
  post: (delivery: Delivery) => Promise<DeliveryResponse>;
  /** A delivery has ended. */
  settled: (delivery: Delivery, deliveryResult: DeliveryResult) => void;
  /** An attempt failed; `delay` until the next one in milliseconds. */
  failed: (delivery: Delivery, why: string, delay: number) => void;
  /** Milliseconds after which an event fails permanently. */
  maxAge: () => number;
  /** True if this incarnation may have more events. Otherwise its 410 would never be deleted. */
  lives: (incarnation: string) => boolean;
  delay?: (attempts: number) => number;
  now?: () => number;
};

type Queue = {
  receiver: Receiver;
  roomId: string;
  entries: Map<number, Delivery>;
  busy: boolean;
  timer: Timer | undefined;
  /** Why the last attempt of the first delivery failed. */
  problem: string | undefined;
  unwanted: Set<string>;
};
type Receiver = {
  url: string;
  queues: Map<string, Queue>;
  ready: Queue[];
  active: number;
  answers: boolean;
  failing: boolean;
  pausedUntil: number;
};

/** State of a receiver for operators. `problem`: why the last attempt of a pending delivery failed, or why a room gets no more events. */
export type ReceiverState = { url: string; pending: number; rooms: number; failing: boolean; problem?: string };

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #delay: (attempts: number) => number;
  readonly #now: () => number;
  readonly #receivers = new Map<string, Receiver>();
  /** Receivers with a queue that can continue, longest waiting first. */
  readonly #waiting = new Set<Receiver>();
  #active = 0;
  #closed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#delay = options.delay ?? retryDelay;
    this.#now = options.now ?? Date.now;
  }

  /** Number of requests in progress. */
  get active(): number {
    return this.#active;
  }

  add(delivery: Delivery): void {
    if (this.#closed) return;
    const queue = this.#queueOf(delivery);
    if (queue.unwanted.has(delivery.incarnation)) {
      this.#options.settled(delivery, { delivered: false, deadReason: 'the receiver responded with 410' });
      return;
    }
    queue.entries.set(delivery.n, delivery);
    if (!queue.busy && !queue.timer) this.#makeReady(queue);
  }

  /** Removes a delivery. The result of a request in progress is ignored. */
  remove(delivery: Delivery): void {
    const queue = this.#receivers.get(delivery.url)?.queues.get(delivery.roomId);
    if (!queue?.entries.delete(delivery.n)) return;
    this.#forgetIfDone(queue);
  }

  /** Clears the 410 responses of receivers for a room, because the room ended or its events are replayed. */
  forget410(roomId: string, incarnation: string): void {
    for (const receiver of this.#receivers.values()) {
      const queue = receiver.queues.get(roomId);
      if (!queue) continue;
      queue.unwanted.delete(incarnation);
      this.#forgetIfDone(queue);
    }
  }

  receivers(): ReceiverState[] {
    return [...this.#receivers.values()].map(({ url, queues, failing }) => {
      let pending = 0;
      let rooms = 0;
      let problem: string | undefined;
      for (const { entries, unwanted, problem: own } of queues.values()) {
        pending += entries.size;
        if (entries.size > 0) rooms += 1;
        problem ??= own ?? (unwanted.size > 0 ? 'the receiver responded with 410: it gets no more events of that room' : undefined);
      }
      return { url, pending, rooms, failing, ...(problem !== undefined && { problem }) };
    });
  }

  /** Tries all pending deliveries immediately, because the node is shutting down. */
  hurry(): void {
    for (const receiver of this.#receivers.values()) {
      for (const queue of receiver.queues.values()) {
        if (!queue.timer) continue;
        queue.timer.stop();
        queue.timer = undefined;
        this.#makeReady(queue);
      }
    }
  }

  /** Sends nothing more. */
  close(): void {
    this.#closed = true;
    for (const receiver of this.#receivers.values()) for (const { timer } of receiver.queues.values()) timer?.stop();
    this.#receivers.clear();
    this.#waiting.clear();
  }

  #queueOf({ url, roomId }: Delivery): Queue {
    const receiver: Receiver = this.#receivers.get(url) ?? {
      url,
      queues: new Map(),
      ready: [],
      active: 0,
      answers: false,
      failing: false,
      pausedUntil: 0,
    };
    this.#receivers.set(url, receiver);
    const queue = receiver.queues.get(roomId) ?? {
      receiver,
      roomId,
      entries: new Map(),
      busy: false,
      timer: undefined,
      problem: undefined,
      unwanted: new Set(),
    };
    receiver.queues.set(roomId, queue);
    return queue;
  }

  #makeReady(queue: Queue): void {
    queue.busy = true;
    queue.receiver.ready.push(queue);
    this.#waiting.add(queue.receiver);
    this.#pump();
  }

  #pump(): void {
    for (const receiver of this.#waiting) {
      if (this.#active >= overall) return;
      const limit = receiver.answers ? perReceiver : 1;
      while (receiver.active < limit && this.#active < overall) {
        const queue = receiver.ready.shift();
        if (!queue) break;
        this.#start(queue);
      }
      if (receiver.ready.length === 0 || receiver.active >= limit) this.#waiting.delete(receiver);
    }
  }

  #start(queue: Queue): void {
    const { receiver } = queue;
    const head = queue.entries.values().next().value;
    if (head === undefined) {
      queue.busy = false;
      this.#forgetIfDone(queue);
      return;
    }
    const pause = receiver.pausedUntil - this.#now();
    if (pause > 0) {
      this.#sleep(queue, pause);
      return;
    }
    receiver.active += 1;
    this.#active += 1;
    void this.#try(queue, head).finally(() => {
      receiver.active -= 1;
      this.#active -= 1;
      if (this.#closed) return;
      if (receiver.ready.length > 0) this.#waiting.add(receiver);
      this.#pump();
    });
  }

  async #try(queue: Queue, delivery: Delivery): Promise<void> {
    const { receiver } = queue;
    let answer: DeliveryResponse | undefined;
    let why = '';
    let forbidden = false;
    try {
      answer = await this.#options.post(delivery);
      why = `the receiver responded with ${answer.status}`;
    } catch (error) {
      forbidden = error instanceof ForbiddenAddressError;
      why = error instanceof Error ? error.message || error.name : String(error);
    }
    if (this.#closed) return;
    delivery.attempts += 1;
    // A fast response does not block others, even if it is an error.
    receiver.answers = answer !== undefined;
    receiver.failing = !receiver.answers;
    if (!queue.entries.has(delivery.n)) return this.#next(queue);
    if (answer && answer.status >= 200 && answer.status < 300) return this.#settle(queue, delivery, { delivered: true });
    if (answer?.status === 410) return this.#stopFor(queue, delivery.incarnation);
    if (forbidden) return this.#settle(queue, delivery, { delivered: false, deadReason: why });
    const left = delivery.at + this.#options.maxAge() - this.#now();
    if (left <= 0) return this.#settle(queue, delivery, { delivered: false, deadReason: `too old; ${why}` });
    if (answer?.retryAfter !== undefined) receiver.pausedUntil = this.#now() + answer.retryAfter;
    // The last attempt is made when the maximum age is reached, regardless of the backoff.
    const delay = Math.min(Math.max(this.#delay(delivery.attempts), answer?.retryAfter ?? 0), left);
    queue.problem = why.slice(0, maxProblem);
    this.#options.failed(delivery, why, delay);
    this.#sleep(queue, delay);
  }

  #settle(queue: Queue, delivery: Delivery, deliveryResult: DeliveryResult): void {
    queue.entries.delete(delivery.n);
    this.#options.settled(delivery, deliveryResult);
    this.#next(queue);
  }

  #stopFor(queue: Queue, incarnation: string): void {
    if (this.#options.lives(incarnation)) queue.unwanted.add(incarnation);
    for (const delivery of [...queue.entries.values()]) {
      if (delivery.incarnation !== incarnation) continue;
      queue.entries.delete(delivery.n);
      this.#options.settled(delivery, { delivered: false, deadReason: 'the receiver responded with 410' });
    }
    this.#next(queue);
  }

  #sleep(queue: Queue, delay: number): void {
    queue.busy = false;
    queue.timer?.stop();
    queue.timer = new Timer(delay, () => {
      queue.timer = undefined;
      this.#makeReady(queue);
    });
  }

  #next(queue: Queue): void {
    queue.busy = false;
    queue.problem = undefined;
    if (queue.entries.size > 0) this.#makeReady(queue);
    else this.#forgetIfDone(queue);
  }

  #forgetIfDone(queue: Queue): void {
    if (queue.busy || queue.entries.size > 0 || queue.unwanted.size > 0) return;
    queue.timer?.stop();
    queue.timer = undefined;
    queue.receiver.queues.delete(queue.roomId);
    if (queue.receiver.queues.size === 0) this.#receivers.delete(queue.receiver.url);
  }
}
