// Recorder of Kubernetes Events (events.k8s.io/v1): writes in the background and aggregates repetitions as series.
import { messageOf } from '../error-message.ts';
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';
import { sleep } from './http/deadline.ts';
import { isUnavailable } from './http/kube-error.ts';
import { type KubeObject, type ObjectMeta, resources, type Stored } from './objects.ts';
import { microTime } from './times.ts';

export type EventType = 'Normal' | 'Warning';

export type EventRecorderOptions = {
  client: Pick<KubeClient, 'create' | 'patch'>;
  /** `reportingController`, e.g. `mediarooms.dev/operator`. */
  controller: string;
  /** `reportingInstance`: name of the process. */
  instance: string;
  log: Log;
  /** Wall clock in milliseconds. */
  now?: () => number;
  random?: () => number;
};

type Series = { count: number; lastObservedTime: string };
type KubeEvent = KubeObject & {
  eventTime: string;
  reportingController: string;
  reportingInstance: string;
  type: EventType;
  reason: string;
  action: string;
  note: string;
  regarding: { apiVersion: string; kind: string; name: string; namespace?: string | undefined; uid: string; resourceVersion: string };
  series?: Series;
};
/** One recorded event and its repetitions. */
type RecordedEvent = { event: KubeEvent; count: number; lastAt: number; written: number; writtenAt: number; waiting: boolean };

/** A repetition within this time belongs to the same event, as in client-go. */
const seriesMs = 6 * 60_000;
/** Minimum interval between two writes of a series. */
const betweenWritesMs = 30_000;
const maxTracked = 4096;
const maxQueued = 1000;
/** Burst size, and events per second after it. */
const burst = 100;
const perSecond = 10;
/** API limits: bytes of a note, characters of a reason, an action and an instance. */
const maxNoteLength = 1024;
const maxReasonLength = 128;
const firstRetryMs = 1000;
const maxRetryMs = 30_000;
const closeMs = 2000;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #known = new Map<string, RecordedEvent>();
  readonly #end = new AbortController();
  #waiting: RecordedEvent[] = [];
  #later: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #tokens = burst;
  #filledAt: number;
  #dropped = 0;
  #closing = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#random = options.random ?? Math.random;
    this.#filledAt = this.#now();
  }

  /** Events that were not written, because too many waited or the API server rejected them. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Returns immediately; an event that cannot be written is dropped and counted. `action`: the attempted action in CamelCase. */
  emit(regarding: Stored<KubeObject>, type: EventType, reason: string, action: string, note: string): void {
    if (this.#closing) return;
    const key = [regarding.metadata.uid, type, reason, action, note].join('\0');
    const now = this.#now();
    const known = this.#known.get(key);
    // Reinserted at the end, so that the first entry of the map is the least recently used.
    this.#known.delete(key);
    if (known && now - known.lastAt < seriesMs) {
      this.#known.set(key, known);
      known.count += 1;
      known.lastAt = now;
      if (!known.waiting) this.#wakeLater(known.writtenAt + betweenWritesMs - now);
      return;
    }
    const event = this.#event(regarding, { type, reason, action, note }, now);
    const recorded = { event, count: 1, lastAt: now, written: 0, writtenAt: now, waiting: false };
    if (!this.#enqueue(recorded)) return;
    this.#known.set(key, recorded);
    if (this.#known.size > maxTracked) this.#known.delete(this.#known.keys().next().value ?? '');
    this.#work();
  }

  /** Writes the remaining events, for at most 2 s. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#later);
    for (const recorded of this.#known.values()) if (recorded.count > recorded.written) this.#enqueue(recorded);
    this.#work();
    const late = new AbortController();
    await Promise.race([this.#writing, sleep(closeMs, late.signal)]);
    late.abort();
    this.#end.abort();
  }

  #event(regarding: Stored<KubeObject>, fields: Pick<KubeEvent, 'type' | 'reason' | 'action' | 'note'>, now: number): KubeEvent {
    const { name, namespace, uid, resourceVersion } = regarding.metadata;
    const { apiVersion, kind } = resources.events;
    return {
      apiVersion,
      kind,
      metadata: { name: this.#name(name, now), namespace: namespace ?? 'default' },
      eventTime: microTime(now),
      reportingController: this.#options.controller,
      reportingInstance: this.#options.instance.slice(0, maxReasonLength),
      type: fields.type,
      reason: fields.reason.slice(0, maxReasonLength),
      action: fields.action.slice(0, maxReasonLength),
      note: truncateUtf8(fields.note, maxNoteLength),
      regarding: { apiVersion: regarding.apiVersion, kind: regarding.kind, name, namespace, uid, resourceVersion },
    };
  }

  #name(of: string, now: number): string {
    const unique = Math.floor(this.#random() * 2 ** 32);
    return `${of.slice(0, 200).replace(/[-.]+$/, '')}.${now.toString(16)}${unique.toString(16).padStart(8, '0')}`;
  }

  #enqueue(recorded: RecordedEvent): boolean {
    if (recorded.waiting) return true;
    if (this.#waiting.length >= maxQueued) {
      this.#drop('too many events are waiting', recorded.event);
      return false;
    }
    recorded.waiting = true;
    this.#waiting.push(recorded);
    return true;
  }

  /** Checks the series after that time; one check serves all. */
  #wakeLater(ms: number): void {
    this.#later ??= setTimeout(
      () => {
        this.#later = undefined;
        this.#wake();
      },
      Math.max(ms, 0),
    ).unref();
  }

  #wake(): void {
    const now = this.#now();
    let next = Number.POSITIVE_INFINITY;
    for (const [key, recorded] of this.#known) {
      const due = recorded.writtenAt + betweenWritesMs;
      if (recorded.count === recorded.written || recorded.waiting) {
        if (now - recorded.lastAt >= seriesMs) this.#known.delete(key);
      } else if (due <= now) this.#enqueue(recorded);
      else next = Math.min(next, due);
    }
    if (next < Number.POSITIVE_INFINITY) this.#wakeLater(next - now);
    this.#work();
  }

  #work(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  async #writeAll(): Promise<void> {
    let failures = 0;
    for (let recorded = this.#waiting[0]; recorded && !this.#end.signal.aborted; recorded = this.#waiting[0]) {
      await this.#token();
      try {
        await this.#write(recorded);
        failures = 0;
      } catch (error) {
        if (isUnavailable(error) && !this.#closing) {
          // The API server will return, and users want to read the events of its outage.
          await sleep(Math.min(firstRetryMs * 2 ** failures, maxRetryMs) * (0.5 + this.#random()), this.#end.signal);
          failures += 1;
          continue;
        }
        this.#drop(messageOf(error), recorded.event);
      }
      recorded.waiting = false;
      this.#waiting.shift();
    }
  }

  async #write(recorded: RecordedEvent): Promise<void> {
    const { client } = this.#options;
    const { count, event } = recorded;
    const series = { count, lastObservedTime: microTime(recorded.lastAt) };
    const { name, namespace } = event.metadata;
    const patched = recorded.written > 0 && (await client.patch(resources.events, { namespace, name }, { series }));
    if (!patched) {
      // It was written but has expired: events live for an hour.
      if (recorded.written > 0)
        event.metadata = { ...event.metadata, name: this.#name(event.regarding.name, recorded.lastAt) } satisfies ObjectMeta;
      // The API rejects a series with one event.
      await client.create<KubeEvent>(resources.events, count > 1 ? { ...event, series } : event);
    }
    recorded.written = count;
    recorded.writtenAt = this.#now();
  }

  #drop(why: string, event: KubeEvent): void {
    this.#dropped += 1;
    const { reason, regarding } = event;
    this.#options.log.debug({ reason, regarding: regarding.name, error: why, dropped: this.#dropped }, 'event dropped');
  }

  async #token(): Promise<void> {
    const fill = () => {
      const now = this.#now();
      this.#tokens = Math.min(burst, this.#tokens + (Math.max(0, now - this.#filledAt) / 1000) * perSecond);
      this.#filledAt = now;
    };
    for (fill(); this.#tokens < 1 && !this.#closing; fill()) if (!(await sleep(1000 / perSecond, this.#end.signal))) return;
    this.#tokens -= 1;
  }
}

/** Truncates to a number of UTF-8 bytes without splitting a character. */
export function truncateUtf8(text: string, longest: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= longest) return text;
  let end = longest;
  // Continuation bytes of a character begin with the bits 10.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
