// Prometheus metrics: what rooms, media and HTTP are at the moment of the scrape, and Node.js's own.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RoomEvent } from '../rooms/shapes/events.ts';
import { type ProcessUsage, processUsage } from './process-usage.ts';
import { RoomSeries, type RoomSeriesStats } from './room-series.ts';

export type RoomCounts = {
  rooms: number;
  peers: number;
  tracks: { audio: number; video: number };
  /** By type; every type that there may be, so that its series is there from the start. */
  components: Readonly<Record<string, number>>;
};
export type WorkerCounters = { pid: number | undefined; rooms: number; forwardedTracks: number; restarts: number; hangs: number };
/** Bytes since the start; never less than before. */
export type ByteCounts = { received: number; sent: number };

/** Since the start, but for `pending` and `spoolBytes`, which are as they are now. Bytes are those of bodies. */
export type WebhookCounters = {
  delivered: number;
  retries: number;
  dead: number;
  pending: number;
  pendingBytes: number;
  spoolErrors: number;
  spoolBytes: number;
};

/** Since the start, but for `pending`, which is as it is now. Bytes are those of bodies that arrived. */
export type UploadCounters = { pending: number; bytes: number; done: number; failures: number; givenUp: number };

/** What is counted, asked for at each scrape. */
export type MetricsSource = {
  rooms: () => RoomCounts;
  forwardedTracks: () => number;
  /** One entry per worker, in a lasting order. */
  workers: () => readonly WorkerCounters[];
  /** This node included. */
  clusterNodes: () => number;
  /** Bounded in time by whoever counts; never rejects. */
  mediaTraffic: () => Promise<ByteCounts>;
  httpTraffic: () => ByteCounts;
  webhooks: () => WebhookCounters;
  uploads: () => UploadCounters;
};

/** A request that was answered. */
export type RequestObservation = { route: string; method: string; status: number; duration: number };

/** What one scrape is about. */
type Moment = {
  counts: RoomCounts;
  roomStats: readonly (readonly [roomId: string, figures: RoomSeriesStats])[];
  workers: readonly (WorkerCounters & { usage: ProcessUsage | undefined })[];
  media: ByteCounts;
  http: ByteCounts;
  webhooks: WebhookCounters;
  uploads: UploadCounters;
};
/** One value, or one per label. */
type Samples = number | readonly (readonly [labels: Record<string, string>, value: number])[];
type Sampled = { name: string; help: string; labels?: readonly string[]; read: (moment: Moment) => Samples };

/** Of Node.js's own, gauges that have a counter's name, which Prometheus's own check objects to. The same is there by type. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export class Metrics {
  readonly #registry = new Registry();
  readonly #rooms = new RoomSeries();
  readonly #requests: Histogram<'route' | 'method' | 'status'>;
  readonly #source: MetricsSource;
  #moment: Moment | undefined;

  constructor(source: MetricsSource) {
    this.#source = source;
    // A reading of the event loop's delay wakes the process: ten a second tell enough, the default hundred cost more than signaling does.
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 100 });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
    this.#addNode();
    this.#addRooms();
    this.#addTraffic();
    this.#addWorkers();
    this.#addWebhooks();
    this.#addUploads();
    this.#requests = new Histogram({
      name: 'svc_http_request_duration_seconds',
      help: 'Duration of HTTP requests in seconds, from the first byte in to the last byte out, by `route`, `method` and `status`.',
      labelNames: ['route', 'method', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers: [this.#registry],
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** `duration` in milliseconds. */
  httpRequest({ route, method, status, duration }: RequestObservation): void {
    this.#requests.observe({ route, method, status: String(status) }, duration / 1000);
  }

  /** Events of this node's own rooms, each once and in order. */
  roomEvent(event: RoomEvent): void {
    this.#rooms.take(event);
  }

  /** The text of one scrape. */
  async text(): Promise<string> {
    const source = this.#source;
    // What takes time comes first: then the rest is true at one moment.
    const [media, usages] = await Promise.all([source.mediaTraffic(), usageByPid(source.workers())]);
    this.#moment = {
      counts: source.rooms(),
      roomStats: [...this.#rooms.read()],
      workers: source.workers().map((worker) => ({ ...worker, usage: usages.get(worker.pid) })),
      media,
      http: source.httpTraffic(),
      webhooks: source.webhooks(),
      uploads: source.uploads(),
    };
    return this.#registry.metrics();
  }

  #addNode(): void {
    const { forwardedTracks, clusterNodes } = this.#source;
    this.#gauge({ name: 'svc_rooms', help: 'Rooms on this node.', read: ({ counts }) => counts.rooms });
    this.#gauge({ name: 'svc_peers', help: 'Peers that are connected to rooms of this node.', read: ({ counts }) => counts.peers });
    this.#gauge({
      name: 'svc_components',
      help: 'Components of rooms of this node, by `type`.',
      labels: ['type'],
      read: ({ counts }) => Object.entries(counts.components).map(([type, count]) => [{ type }, count]),
    });
    this.#gauge({
      name: 'svc_tracks',
      help: 'Tracks that are published in rooms of this node, by `kind`.',
      labels: ['kind'],
      read: ({ counts }) => Object.entries(counts.tracks).map(([kind, count]) => [{ kind }, count]),
    });
    this.#gauge({
      name: 'svc_forwarded_tracks',
      help: 'Tracks that are forwarded to peers: one per track and receiver.',
      read: forwardedTracks,
    });
    this.#gauge({
      name: 'svc_cluster_nodes',
      help: 'Nodes of the cluster as this node sees it, itself included.',
      read: clusterNodes,
    });
  }

  #addRooms(): void {
    this.#counter({
      name: 'svc_rooms_crashed_total',
      help: 'Rooms of this node that were lost with their media worker.',
      read: () => this.#rooms.crashed,
    });
    const perRoom = (name: string, help: string, value: (figures: RoomSeriesStats) => number): Sampled => ({
      name,
      help: `${help}, by \`room_id\`.`,
      labels: ['room_id'],
      read: ({ roomStats }) => roomStats.map(([roomId, figures]) => [{ room_id: roomId }, value(figures)]),
    });
    this.#gauge(perRoom('svc_room_peers', 'Peers that are connected to the room', ({ peers }) => peers));
    this.#gauge(
      perRoom(
        'svc_room_peer_time_total_seconds',
        'How long peers have been connected to the room, in seconds, summed over peers; grows while the room lives',
        ({ peerTime }) => peerTime / 1000,
      ),
    );
    this.#gauge(perRoom('svc_room_duration_seconds', 'How long the room has lived, in seconds', ({ duration }) => duration / 1000));
    this.#counter(perRoom('svc_room_peer_connects_total', 'How often peers have connected to the room', ({ connects }) => connects));
    this.#counter(
      perRoom(
        'svc_room_peer_disconnects_total',
        'How often connected peers of the room have been disconnected, for whatever reason',
        ({ disconnects }) => disconnects,
      ),
    );
    this.#counter(perRoom('svc_room_peer_crashes_total', 'How often peers of the room have crashed', ({ crashes }) => crashes));
  }

  /** Gauges by type: these names are given, and a counter's would have to end in `_total`. */
  #addTraffic(): void {
    const since = 'since the node started';
    this.#gauge({
      name: 'svc_traffic_ingress_webrtc_total_bytes',
      help: `Bytes received from peers over WebRTC ${since}, as payload of UDP and TCP, without requests of ICE; only grows.`,
      read: ({ media }) => media.received,
    });
    this.#gauge({
      name: 'svc_traffic_egress_webrtc_total_bytes',
      help: `Bytes sent to peers over WebRTC ${since}, as payload of UDP and TCP; only grows.`,
      read: ({ media }) => media.sent,
    });
    this.#gauge({
      name: 'svc_traffic_ingress_http_total_bytes',
      help: `Bytes received over HTTP connections ${since}, with headers, websockets and TLS; only grows.`,
      read: ({ http }) => http.received,
    });
    this.#gauge({
      name: 'svc_traffic_egress_http_total_bytes',
      help: `Bytes sent over HTTP connections ${since}, with headers, websockets and TLS; only grows.`,
      read: ({ http }) => http.sent,
    });
  }

  #addWorkers(): void {
    this.#gauge({
      name: 'svc_workers',
      help: 'Media workers that run.',
      read: ({ workers }) => workers.filter(({ pid }) => pid !== undefined).length,
    });
    const perWorker = (name: string, help: string, value: (figures: WorkerCounters) => number): Sampled => ({
      name,
      help: `${help}, by \`worker\`.`,
      labels: ['worker'],
      read: ({ workers }) => workers.map((figures, index) => [{ worker: String(index) }, value(figures)]),
    });
    this.#gauge(perWorker('svc_worker_rooms', 'Rooms with their media on the media worker', ({ rooms }) => rooms));
    this.#gauge(
      perWorker('svc_worker_forwarded_tracks', 'Tracks that the media worker forwards', ({ forwardedTracks }) => forwardedTracks),
    );
    this.#counter(
      perWorker('svc_worker_restarts_total', 'How often a media worker that had died was replaced', ({ restarts }) => restarts),
    );
    this.#counter(
      perWorker('svc_worker_hangs_total', 'How often a media worker was killed because it did not answer for 6 s', ({ hangs }) => hangs),
    );
    const usage = (name: string, help: string, value: (usage: ProcessUsage) => number): Sampled => ({
      name,
      help: `${help}, by \`worker\`.`,
      labels: ['worker'],
      read: ({ workers }) => workers.flatMap(({ usage }, index) => (usage ? [[{ worker: String(index) }, value(usage)] as const] : [])),
    });
    this.#counter(usage('svc_worker_cpu_seconds_total', 'CPU time of the media worker that runs, in seconds', ({ cpu }) => cpu));
    this.#gauge(usage('svc_worker_resident_memory_bytes', 'Resident memory of the media worker, in bytes', ({ memory }) => memory));
  }

  #addWebhooks(): void {
    const one = (name: string, help: string, value: (figures: WebhookCounters) => number): Sampled => ({
      name: `svc_webhook_${name}`,
      help,
      read: ({ webhooks }) => value(webhooks),
    });
    this.#counter(one('delivered_total', 'Webhooks that were taken by their receivers.', ({ delivered }) => delivered));
    this.#counter(one('retries_total', 'Tries to deliver webhooks that failed and are repeated.', ({ retries }) => retries));
    this.#counter(one('dead_letters_total', 'Webhooks that were given up.', ({ dead }) => dead));
    this.#gauge(one('pending', 'Webhooks that are neither taken nor given up.', ({ pending }) => pending));
    this.#gauge(one('pending_bytes', 'Bytes of webhooks that are neither taken nor given up.', ({ pendingBytes }) => pendingBytes));
    this.#counter(one('spool_errors_total', 'Writes to the spool of webhooks that failed.', ({ spoolErrors }) => spoolErrors));
    this.#gauge(one('spool_bytes', 'Bytes of the spool of webhooks on disk.', ({ spoolBytes }) => spoolBytes));
  }

  #addUploads(): void {
    const one = (name: string, help: string, value: (figures: UploadCounters) => number): Sampled => ({
      name: `svc_upload${name}`,
      help,
      read: ({ uploads }) => value(uploads),
    });
    this.#gauge(
      one('s_pending', 'Recordings and streams that are not in S3 yet, those that are being made included.', ({ pending }) => pending),
    );
    this.#counter(one('s_done_total', 'Recordings and streams that went to S3, all of them.', ({ done }) => done));
    this.#counter(
      one('s_given_up_total', 'Recordings and streams that could not be uploaded; they stay on their node.', ({ givenUp }) => givenUp),
    );
    this.#counter(one('_bytes_total', 'Bytes that went to S3.', ({ bytes }) => bytes));
    this.#counter(one('_failures_total', 'Tries to upload something to S3 that failed and are repeated.', ({ failures }) => failures));
  }

  #gauge({ name, help, labels = [], read }: Sampled): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      collect: () => {
        gauge.reset();
        for (const [of, value] of this.#samples(read)) gauge.set(of, value);
      },
    });
  }

  /** Read from what counts it, as gauges are. */
  #counter({ name, help, labels = [], read }: Sampled): void {
    const counter: Counter = new Counter({
      name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        for (const [of, value] of this.#samples(read)) counter.inc(of, value);
      },
    });
  }

  #samples(read: Sampled['read']): Exclude<Samples, number> {
    if (!this.#moment) return [];
    const samples = read(this.#moment);
    return typeof samples === 'number' ? [[{}, samples]] : samples;
  }
}

/** Without workers that do not run. */
async function usageByPid(workers: readonly WorkerCounters[]): Promise<Map<number | undefined, ProcessUsage | undefined>> {
  const pids = workers.flatMap(({ pid }) => pid ?? []);
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await processUsage(pid)] as const)));
}
