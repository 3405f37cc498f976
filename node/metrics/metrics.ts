// Prometheus metrics: what rooms and media are at the moment of the scrape, and Node.js's own.
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What is counted, asked for at each scrape. */
export type MetricsSource = {
  rooms: () => { rooms: number; peers: number; tracks: { audio: number; video: number } };
  forwardedTracks: () => number;
  workers: () => readonly { pid: number | undefined; rooms: number }[];
};

/** A request that was answered. */
export type HttpObservation = { route: string; method: string; status: number; duration: number };

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<'route' | 'method' | 'status'>;

  constructor(source: MetricsSource) {
    // A reading of the event loop's delay wakes the process: ten a second tell enough, the default hundred cost more than signaling does.
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 100 });
    this.#gauge('svc_rooms', 'Rooms on this node.', () => source.rooms().rooms);
    this.#gauge('svc_peers', 'Peers that are connected to rooms of this node.', () => source.rooms().peers);
    this.#gauge('svc_forwarded_tracks', 'Tracks that are forwarded to peers: one per track and receiver.', source.forwardedTracks);
    this.#gauge('svc_workers', 'Media workers that run.', () => source.workers().filter(({ pid }) => pid !== undefined).length);
    const tracks = new Gauge({
      name: 'svc_tracks',
      help: 'Tracks that are published in rooms of this node.',
      labelNames: ['kind'],
      registers: [this.#registry],
      collect: () => {
        for (const [kind, count] of Object.entries(source.rooms().tracks)) tracks.set({ kind }, count);
      },
    });
    this.#requests = new Histogram({
      name: 'svc_http_request_duration_seconds',
      help: 'Duration of HTTP requests in seconds, from the first byte in to the last byte out.',
      labelNames: ['route', 'method', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers: [this.#registry],
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** `duration` in milliseconds. */
  httpRequest({ route, method, status, duration }: HttpObservation): void {
    this.#requests.observe({ route, method, status: String(status) }, duration / 1000);
  }

  /** The text of one scrape. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #gauge(name: string, help: string, value: () => number): void {
    const gauge: Gauge = new Gauge({ name, help, registers: [this.#registry], collect: () => gauge.set(value()) });
  }
}
