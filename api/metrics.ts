// Metrics of a node: each once, in groups that are read together. Registration, types of values and docs/reference/metrics.md are derived from it.

export type Metric<Label extends string = string> = {
  type: 'gauge' | 'counter' | 'histogram';
  name: string;
  help: string;
  labels: readonly Label[];
};
/** A metric whose values are read at each scrape. */
export type ReadMetric<Label extends string = string> = Metric<Label> & { type: 'gauge' | 'counter' };
/** A metric that gets one value per event. `buckets`: upper bounds. */
export type Histogram<Label extends string = string> = Metric<Label> & { type: 'histogram'; buckets: readonly number[] };

/** One value, or one per set of labels. */
export type Reading<Label extends string> = [Label] extends [never]
  ? number
  : readonly (readonly [labels: Readonly<Record<Label, string>>, value: number])[];
/** Values of a group: the compiler checks names and labels. */
export type Readings<Group extends Record<string, Metric>> = { readonly [Name in keyof Group]: Reading<Group[Name]['labels'][number]> };

const read =
  (type: ReadMetric['type']) =>
  <const Label extends string = never>(name: string, help: string, labels: readonly Label[] = []): ReadMetric<Label> => ({
    type,
    name,
    help,
    labels,
  });
const [gauge, counter] = [read('gauge'), read('counter')];
const histogram = <const Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  buckets: readonly number[],
): Histogram<Label> => ({ type: 'histogram', name, help, labels, buckets });

/** Names begin with `svc_` and end with the unit, of counters with `_total`. The number of values of a label must be bounded. */
export const nodeMetrics = {
  rooms: {
    rooms: gauge('svc_rooms', 'Rooms on this node.'),
    peers: gauge('svc_peers', 'Connected peers in rooms of this node.'),
    waitingPeers: gauge('svc_waiting_peers', 'Peers that wait to be admitted to rooms of this node.'),
    components: gauge('svc_components', 'Components of rooms of this node, by `type`.', ['type']),
    tracks: gauge('svc_tracks', 'Published tracks in rooms of this node, by `kind`.', ['kind']),
  },
  whip: {
    sessions: gauge('svc_whip_sessions', 'Sessions of encoders that publish with WHIP to rooms of this node.'),
    players: gauge('svc_whep_sessions', 'Sessions of players that play rooms of this node with WHEP.'),
  },
  livekit: {
    sessions: gauge('svc_livekit_sessions', 'Sessions of LiveKit clients in rooms of this node.'),
    workers: gauge('svc_livekit_agent_workers', 'Workers of agents that are connected to this node.'),
    jobs: gauge('svc_livekit_agent_jobs', 'Jobs that are assigned to workers of agents that are connected to this node.'),
  },
  workers: {
    forwardedTracks: gauge('svc_forwarded_tracks', 'Forwarded tracks: one per track and receiving peer.'),
    running: gauge('svc_workers', 'Running media workers.'),
    workerRooms: gauge('svc_worker_rooms', 'Rooms on the media worker, by `worker`.', ['worker']),
    workerForwardedTracks: gauge('svc_worker_forwarded_tracks', 'Tracks forwarded by the media worker, by `worker`.', ['worker']),
    restarts: counter('svc_worker_restarts_total', 'Restarts of the media worker after it died, by `worker`.', ['worker']),
    hangs: counter('svc_worker_hangs_total', 'Kills of the media worker because it did not respond for 6 s, by `worker`.', ['worker']),
  },
  legs: {
    legs: gauge('svc_room_legs', 'Legs of rooms of this node: one per room and media worker that it uses.'),
    roomsWithLegs: gauge('svc_rooms_on_several_workers', 'Rooms of this node that use more than one media worker.'),
    tracks: gauge('svc_pipe_tracks', 'Tracks that media workers of this node send to each other, because a room uses several of them.'),
  },
  pipes: {
    pipes: gauge(
      'svc_pipes',
      'Pipes between media workers of this node: one for media and one for data, from each leg of a room to each other as needed.',
    ),
    bytes: counter('svc_pipe_bytes_total', 'Bytes that media workers of this node received from each other.'),
    packetsLost: counter('svc_pipe_packets_lost_total', 'Packets of tracks that were lost between media workers of this node.'),
    failures: counter('svc_pipe_failures_total', 'Tracks that one media worker of this node could not send to another.'),
  },
  workerProcesses: {
    cpu: counter('svc_worker_cpu_seconds_total', 'CPU time of the running media worker, in seconds, by `worker`.', ['worker']),
    memory: gauge('svc_worker_resident_memory_bytes', 'Resident memory of the media worker, in bytes, by `worker`.', ['worker']),
  },
  cluster: {
    nodes: gauge('svc_cluster_nodes', 'Nodes of the cluster as seen by this node, including itself.'),
  },
  placement: {
    rejected: counter('svc_rooms_rejected_total', 'Requests for a room that this node rejected, because no node accepted rooms.'),
  },
  roomSeries: {
    crashed: counter('svc_rooms_crashed_total', 'Rooms of this node that were lost with their media worker.'),
    peers: gauge('svc_room_peers', 'Connected peers of the room, by `room_id`.', ['room_id']),
    peerTime: gauge(
      'svc_room_peer_time_total_seconds',
      'Total connection time of all peers of the room, in seconds; grows while the room is active, by `room_id`.',
      ['room_id'],
    ),
    duration: gauge('svc_room_duration_seconds', 'Age of the room, in seconds, by `room_id`.', ['room_id']),
    connects: counter('svc_room_peer_connects_total', 'Connections of peers to the room, by `room_id`.', ['room_id']),
    disconnects: counter('svc_room_peer_disconnects_total', 'Disconnections of peers from the room, for any reason, by `room_id`.', [
      'room_id',
    ]),
    crashes: counter('svc_room_peer_crashes_total', 'Crashes of peers of the room, by `room_id`.', ['room_id']),
  },
  // Gauges by type, because the names are public and those of counters must end in `_total`.
  mediaTraffic: {
    received: gauge(
      'svc_traffic_ingress_webrtc_total_bytes',
      'Bytes received from peers over WebRTC since the node started, as payload of UDP and TCP, without ICE requests; never decreases.',
    ),
    sent: gauge(
      'svc_traffic_egress_webrtc_total_bytes',
      'Bytes sent to peers over WebRTC since the node started, as payload of UDP and TCP; never decreases.',
    ),
  },
  httpTraffic: {
    received: gauge(
      'svc_traffic_ingress_http_total_bytes',
      'Bytes received over HTTP connections since the node started, with headers, websockets and TLS; never decreases.',
    ),
    sent: gauge(
      'svc_traffic_egress_http_total_bytes',
      'Bytes sent over HTTP connections since the node started, with headers, websockets and TLS; never decreases.',
    ),
  },
  webhooks: {
    delivered: counter('svc_webhook_delivered_total', 'Webhooks delivered to their receivers.'),
    retries: counter('svc_webhook_retries_total', 'Failed webhook deliveries that are retried.'),
    dead: counter('svc_webhook_dead_letters_total', 'Webhooks that failed permanently.'),
    pending: gauge('svc_webhook_pending', 'Webhooks that are not delivered yet.'),
    pendingBytes: gauge('svc_webhook_pending_bytes', 'Bytes of webhooks that are not delivered yet.'),
    spoolErrors: counter('svc_webhook_spool_errors_total', 'Failed writes of the webhook spool.'),
    spoolBytes: gauge('svc_webhook_spool_bytes', 'Bytes of the webhook spool on disk.'),
  },
  traces: {
    exported: counter('svc_trace_spans_exported_total', 'Spans that the collector accepted.'),
    dropped: counter('svc_trace_spans_dropped_total', 'Spans that were lost, because the collector was slow or did not accept them.'),
  },
  uploads: {
    pending: gauge('svc_uploads_pending', 'Recordings and streams that are not in S3 yet, including those in progress.'),
    done: counter('svc_uploads_done_total', 'Recordings and streams completely uploaded to S3.'),
    givenUp: counter('svc_uploads_given_up_total', 'Recordings and streams that could not be uploaded; they stay on their node.'),
    bytes: counter('svc_upload_bytes_total', 'Bytes uploaded to S3.'),
    failures: counter('svc_upload_failures_total', 'Failed uploads to S3 that are retried.'),
  },
  requests: {
    duration: histogram(
      'svc_http_request_duration_seconds',
      'Duration of HTTP requests in seconds, from the first byte in to the last byte out, by `route`, `method` and `status`.',
      ['route', 'method', 'status'],
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    ),
  },
};
