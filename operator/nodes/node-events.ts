// The events of all rooms of a cluster, through the notification socket of any of its nodes; of another one when that breaks.
import { sleep } from '../kube/http/deadline.ts';
import type { Log } from '../log.ts';
import { type EventCursor, EventSocket } from './event-socket.ts';
import type { NodeEvent } from './schemas.ts';

const firstBackOffMs = 200;
const maxBackoffMs = 10_000;
/** How soon to look again where there is no node to listen to. */
const nobodyMs = 500;
/** A connection that held so long counts as good: the next failure waits shortly again. */
const goodAfterMs = 30_000;

/** `url`: `http://host:port`; `signed`: it gets no token, but a signature. */
export type EventSource = { url: string; signed: boolean };

export type NodeEventsOptions = {
  /** Nodes to listen to, the best first; asked for each connection. */
  nodes: () => readonly EventSource[];
  token: () => string | undefined;
  /** Kinds of events. */
  types: readonly string[];
  onEvent: (event: NodeEvent) => void;
  /** Events may be missing, at the start too: whoever listens looks at the rooms themselves. */
  onGap: () => void;
  log: Log;
  random?: () => number;
  pingIntervalMs?: number;
};

export class NodeEvents {
  readonly #options: NodeEventsOptions;
  #cursor: EventCursor | undefined;
  #connected: string | undefined;

  constructor(options: NodeEventsOptions) {
    this.#options = options;
  }

  /** The node that tells the events now. */
  get connected(): string | undefined {
    return this.#connected;
  }

  /** Until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { nodes, token, log, random = Math.random } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const sources = nodes();
      const source = sources[failures % Math.max(1, sources.length)];
      const key = token();
      if (source === undefined || key === undefined) {
        await sleep(nobodyMs, signal);
        continue;
      }
      const started = performance.now();
      const why = await this.#listen(source, key, signal);
      if (signal.aborted) return;
      if (performance.now() - started > goodAfterMs) failures = 0;
      log.info({ node: source.url, why }, 'the socket of events ended');
      failures += 1;
      const backOff = Math.min(firstBackOffMs * 2 ** Math.min(failures, 10), maxBackoffMs);
      await sleep(backOff * (0.5 + 0.5 * random()), signal);
    }
  }

  async #listen({ url, signed }: EventSource, token: string, signal: AbortSignal): Promise<string> {
    const { types, onEvent, onGap, log, pingIntervalMs } = this.#options;
    const socket = new EventSocket({
      url: `${url.replace(/^http/, 'ws')}/socket/server/websocket`,
      token,
      signed,
      types,
      cursor: this.#cursor,
      onSubscribed: (complete) => {
        this.#connected = url;
        log.debug({ node: url, complete }, 'listening to events');
        if (!complete) onGap();
      },
      onEvent,
      onCursor: (cursor) => {
        this.#cursor = cursor;
      },
      ...(pingIntervalMs !== undefined && { pingIntervalMs }),
    });
    const stop = () => socket.close('it is not needed any more');
    signal.addEventListener('abort', stop);
    try {
      return await socket.ended;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#connected = undefined;
    }
  }
}
