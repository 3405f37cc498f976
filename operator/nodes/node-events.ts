// Event stream of all rooms of a cluster through the notification websocket of any node, with failover to another node.
import { serverSocketPath } from '../../api/socket/server.ts';
import { sleep } from '../kube/http/deadline.ts';
import type { Log } from '../log.ts';
import { type EventCursor, EventSocket } from './event-socket.ts';
import type { NodeEvent } from './schemas.ts';

const firstBackOffMs = 200;
const maxBackoffMs = 10_000;
/** Retry interval if no node is available. */
const noNodeRetryMs = 500;
/** A connection of this duration resets the backoff. */
const goodAfterMs = 30_000;

/** `url`: `http://host:port`; `signed`: a signature is sent instead of the token. */
export type EventSource = { url: string; signed: boolean };

export type NodeEventsOptions = {
  /** Candidate nodes, best first; read for each connection. */
  nodes: () => readonly EventSource[];
  token: () => string | undefined;
  /** Event types. */
  types: readonly string[];
  onEvent: (event: NodeEvent) => void;
  /** Events may be missing, also at the start: the listener must list the rooms. */
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

  /** The node of the current connection. */
  get connected(): string | undefined {
    return this.#connected;
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { nodes, token, log, random = Math.random } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const sources = nodes();
      const source = sources[failures % Math.max(1, sources.length)];
      const key = token();
      if (source === undefined || key === undefined) {
        await sleep(noNodeRetryMs, signal);
        continue;
      }
      const started = performance.now();
      const why = await this.#listen(source, key, signal);
      if (signal.aborted) return;
      if (performance.now() - started > goodAfterMs) failures = 0;
      log.info({ node: source.url, why }, 'event stream closed');
      failures += 1;
      const backOff = Math.min(firstBackOffMs * 2 ** Math.min(failures, 10), maxBackoffMs);
      await sleep(backOff * (0.5 + 0.5 * random()), signal);
    }
  }

  async #listen({ url, signed }: EventSource, token: string, signal: AbortSignal): Promise<string> {
    const { types, onEvent, onGap, log, pingIntervalMs } = this.#options;
    const socket = new EventSocket({
      url: `${url.replace(/^http/, 'ws')}${serverSocketPath}`,
      token,
      signed,
      types,
      cursor: this.#cursor,
      onSubscribed: (complete) => {
        this.#connected = url;
        log.debug({ node: url, complete }, 'event stream subscribed');
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
