// Prometheus metrics: rooms, media and HTTP at the time of the scrape, and metrics of Node.js.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RoomEvent } from '../../api/events.ts';
import { type ProcessUsage, processUsage } from './process-usage.ts';
import { RoomSeries, type RoomSeriesStats } from './room-series.ts';

export type RoomCounts = {
  rooms: number;
  peers: number;
  tracks: { audio: number; video: number };
  /** By component type. Every possible type is included, so that its series exists from the start. */
  components: Readonly<Record<string, number>>;
};
export type WorkerCounters = { pid: number | undefined; rooms: number; forwardedTracks: number; restarts: number; hangs: number };
/** Bytes since the start. Never decreases. */
export type ByteCounts = { received: number; sent: number };

/** Since the start, except `pending` and `spoolBytes`, which are current values. Bytes of bodies. */
export type WebhookCounters = {
  delivered: number;
  retries: number;
  dead: number;
  pending: number;
  pendingBytes: number;
  spoolErrors: number;
  spoolBytes: number;
};

/** Since the start, except `pending`, which is a current value. Bytes of uploaded bodies. */
export type UploadCounters = { pending: number; bytes: number; done: number; failures: number; givenUp: number };

/** Sources of the values, read at each scrape. */
export type MetricsSource = {
  rooms: () => RoomCounts;
  forwardedTracks: () => number;
  /** One entry per worker, in a stable order. */
  workers: () => readonly WorkerCounters[];
  /** Including this node. */
  clusterNodes: () => number;
  /** Must be bounded in time and never reject. */
  mediaTraffic: () => Promise<ByteCounts>;
  httpTraffic: () => ByteCounts;
  webhooks: () => WebhookCounters;
  uploads: () => UploadCounters;
};

/** A completed request. */
export type RequestObservation = { route: string; method: string; status: number; duration: number };

/** Values of one scrape. */
type Moment = {
  counts: RoomCounts;
  roomStats: readonly (readonly [roomId: string, figures: RoomSeriesStats])[];
  workers: readonly (WorkerCounters & { usage: ProcessUsage | undefined })[];
  media: ByteCounts;
  http: ByteCounts;
  webhooks: WebhookCounters;
  uploads: UploadCounters;
};
/** One value, or one per label set. */
type Samples = number | readonly (readonly [labels: Record<string, string>, value: number])[];
type Sampled = { name: string; help: string; labels?: readonly string[]; read: (moment: Moment) => Samples };

/** Gauges of Node.js with names of counters, which the linter of Prometheus rejects. The same values exist by type. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export class Metrics {
  readonly #registry = new Registry();
  readonly #rooms = new RoomSeries();
  readonly #requests: Histogram<'route' | 'method' | 'status'>;
  readonly #source: MetricsSource;
  #moment: Moment | undefined;

  constructor(source: MetricsSource) {
    this.#source = source;
    // Each sample of the event loop delay wakes the process. Ten per second are enough; the default of a hundred costs more than signaling.
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

  /** Events of local rooms, each once and in order. */
  roomEvent(event: RoomEvent): void {
    this.#rooms.take(event);
  }

  /** The text of one scrape. */
  async text(): Promise<string> {
    const source = this.#source;
    // Slow values first, so that all other values belong to the same time.
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
    this.#gauge({ name: 'svc_peers', help: 'Connected peers in rooms of this node.', read: ({ counts }) => counts.peers });
    this.#gauge({
      name: 'svc_components',
      help: 'Components of rooms of this node, by `type`.',
      labels: ['type'],
      read: ({ counts }) => Object.entries(counts.components).map(([type, count]) => [{ type }, count]),
    });
    this.#gauge({
      name: 'svc_tracks',
      help: 'Published tracks in rooms of this node, by `kind`.',
      labels: ['kind'],
      read: ({ counts }) => Object.entries(counts.tracks).map(([kind, count]) => [{ kind }, count]),
    });
    this.#gauge({
      name: 'svc_forwarded_tracks',
      help: 'Forwarded tracks: one per track and receiving peer.',
      read: forwardedTracks,
    });
    this.#gauge({
      name: 'svc_cluster_nodes',
      help: 'Nodes of the cluster as seen by this node, including itself.',
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
    this.#gauge(perRoom('svc_room_peers', 'Connected peers of the room', ({ peers }) => peers));
    this.#gauge(
      perRoom(
        'svc_room_peer_time_total_seconds',
        'Total connection time of all peers of the room, in seconds; grows while the room is active',
        ({ peerTime }) => peerTime / 1000,
      ),
    );
    this.#gauge(perRoom('svc_room_duration_seconds', 'Age of the room, in seconds', ({ duration }) => duration / 1000));
    this.#counter(perRoom('svc_room_peer_connects_total', 'Connections of peers to the room', ({ connects }) => connects));
    this.#counter(
      perRoom('svc_room_peer_disconnects_total', 'Disconnections of peers from the room, for any reason', ({ disconnects }) => disconnects),
    );
    this.#counter(perRoom('svc_room_peer_crashes_total', 'Crashes of peers of the room', ({ crashes }) => crashes));
  }

  /** Gauges by type, because the names are public and those of counters must end in `_total`. */
  #addTraffic(): void {
    const since = 'since the node started';
    this.#gauge({
      name: 'svc_traffic_ingress_webrtc_total_bytes',
      help: `Bytes received from peers over WebRTC ${since}, as payload of UDP and TCP, without ICE requests; never decreases.`,
      read: ({ media }) => media.received,
    });
    this.#gauge({
      name: 'svc_traffic_egress_webrtc_total_bytes',
      help: `Bytes sent to peers over WebRTC ${since}, as payload of UDP and TCP; never decreases.`,
      read: ({ media }) => media.sent,
    });
    this.#gauge({
      name: 'svc_traffic_ingress_http_total_bytes',
      help: `Bytes received over HTTP connections ${since}, with headers, websockets and TLS; never decreases.`,
      read: ({ http }) => http.received,
    });
    this.#gauge({
      name: 'svc_traffic_egress_http_total_bytes',
      help: `Bytes sent over HTTP connections ${since}, with headers, websockets and TLS; never decreases.`,
      read: ({ http }) => http.sent,
    });
  }

  #addWorkers(): void {
    this.#gauge({
      name: 'svc_workers',
      help: 'Running media workers.',
      read: ({ workers }) => workers.filter(({ pid }) => pid !== undefined).length,
    });
    const perWorker = (name: string, help: string, value: (figures: WorkerCounters) => number): Sampled => ({
      name,
      help: `${help}, by \`worker\`.`,
      labels: ['worker'],
      read: ({ workers }) => workers.map((figures, index) => [{ worker: String(index) }, value(figures)]),
    });
    this.#gauge(perWorker('svc_worker_rooms', 'Rooms on the media worker', ({ rooms }) => rooms));
    this.#gauge(perWorker('svc_worker_forwarded_tracks', 'Tracks forwarded by the media worker', ({ forwardedTracks }) => forwardedTracks));
    this.#counter(perWorker('svc_worker_restarts_total', 'Restarts of the media worker after it died', ({ restarts }) => restarts));
    this.#counter(
      perWorker('svc_worker_hangs_total', 'Kills of the media worker because it did not respond for 6 s', ({ hangs }) => hangs),
    );
    const usage = (name: string, help: string, value: (usage: ProcessUsage) => number): Sampled => ({
      name,
      help: `${help}, by \`worker\`.`,
      labels: ['worker'],
      read: ({ workers }) => workers.flatMap(({ usage }, index) => (usage ? [[{ worker: String(index) }, value(usage)] as const] : [])),
    });
    this.#counter(usage('svc_worker_cpu_seconds_total', 'CPU time of the running media worker, in seconds', ({ cpu }) => cpu));
    this.#gauge(usage('svc_worker_resident_memory_bytes', 'Resident memory of the media worker, in bytes', ({ memory }) => memory));
  }

  #addWebhooks(): void {
    const one = (name: string, help: string, value: (figures: WebhookCounters) => number): Sampled => ({
      name: `svc_webhook_${name}`,
      help,
      read: ({ webhooks }) => value(webhooks),
    });
    this.#counter(one('delivered_total', 'Webhooks delivered to their receivers.', ({ delivered }) => delivered));
    this.#counter(one('retries_total', 'Failed webhook deliveries that are retried.', ({ retries }) => retries));
    this.#counter(one('dead_letters_total', 'Webhooks that failed permanently.', ({ dead }) => dead));
    this.#gauge(one('pending', 'Webhooks that are not delivered yet.', ({ pending }) => pending));
    this.#gauge(one('pending_bytes', 'Bytes of webhooks that are not delivered yet.', ({ pendingBytes }) => pendingBytes));
    this.#counter(one('spool_errors_total', 'Failed writes of the webhook spool.', ({ spoolErrors }) => spoolErrors));
    this.#gauge(one('spool_bytes', 'Bytes of the webhook spool on disk.', ({ spoolBytes }) => spoolBytes));
  }

  #addUploads(): void {
    const one = (name: string, help: string, value: (figures: UploadCounters) => number): Sampled => ({
      name: `svc_upload${name}`,
      help,
      read: ({ uploads }) => value(uploads),
    });
    this.#gauge(one('s_pending', 'Recordings and streams that are not in S3 yet, including those in progress.', ({ pending }) => pending));
    this.#counter(one('s_done_total', 'Recordings and streams completely uploaded to S3.', ({ done }) => done));
    this.#counter(
      one('s_given_up_total', 'Recordings and streams that could not be uploaded; they stay on their node.', ({ givenUp }) => givenUp),
    );
    this.#counter(one('_bytes_total', 'Bytes uploaded to S3.', ({ bytes }) => bytes));
    this.#counter(one('_failures_total', 'Failed uploads to S3 that are retried.', ({ failures }) => failures));
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

  /** Read at each scrape, like gauges. */
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

/** Skips workers that are not running. */
async function usageByPid(workers: readonly WorkerCounters[]): Promise<Map<number | undefined, ProcessUsage | undefined>> {
  const pids = workers.flatMap(({ pid }) => pid ?? []);
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await processUsage(pid)] as const)));
}
