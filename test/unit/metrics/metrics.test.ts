// Metrics: values of a scrape.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventType } from '../../../api/events.ts';
import { nodeMetrics } from '../../../api/metrics.ts';
import { workerProcessReadings, workerReadings } from '../../../node/media/worker/worker-metrics.ts';
import { Metrics } from '../../../node/metrics/metrics.ts';
import { RoomSeries } from '../../../node/metrics/room-series.ts';
import { samplesOf } from '../../kit/fakes/metrics.ts';

test('values are those at the time of the scrape, not of an earlier one', async () => {
  const metrics = new Metrics();
  let [nodes, delivered] = [7, 15];
  let components = [[{ type: 'file' }, 5]] as [{ type: string }, number][];
  metrics.collect(nodeMetrics.cluster, () => ({ nodes }));
  metrics.collect(nodeMetrics.webhooks, () => ({
    ...{ delivered, retries: 16, dead: 17, pending: 18 },
    ...{ pendingBytes: 19, spoolErrors: 20, spoolBytes: 21 },
  }));
  metrics.collect(nodeMetrics.rooms, () => ({ rooms: 1, peers: 2, waitingPeers: 1, components, tracks: [[{ kind: 'audio' }, 0]] }));
  metrics.collectSlow(nodeMetrics.mediaTraffic, async () => ({ received: 8, sent: 9 }));
  const samples = samplesOf(await metrics.text());
  const expected = {
    svc_cluster_nodes: 7,
    svc_webhook_delivered_total: 15,
    svc_webhook_spool_bytes: 21,
    svc_peers: 2,
    'svc_tracks{kind="audio"}': 0,
    'svc_components{type="file"}': 5,
    svc_traffic_ingress_webrtc_total_bytes: 8,
    svc_traffic_egress_webrtc_total_bytes: 9,
  };
  for (const [sample, value] of Object.entries(expected)) assert.equal(samples.get(sample), value, sample);
  [nodes, delivered, components] = [0, 14, []];
  const later = samplesOf(await metrics.text());
  assert.equal(later.get('svc_cluster_nodes'), 0);
  assert.equal(later.get('svc_webhook_delivered_total'), 14);
  assert.equal(later.has('svc_components{type="file"}'), false);
});

test('names and labels of values are checked by the compiler', () => {
  const metrics = new Metrics();
  // @ts-expect-error the metric has no label
  metrics.collect(nodeMetrics.cluster, () => ({ nodes: [[{ node: 'a' }, 1]] }));
  // @ts-expect-error the label is worker
  metrics.collectSlow(nodeMetrics.workerProcesses, async () => ({ cpu: [[{ pid: '1' }, 1]], memory: [] }));
  // @ts-expect-error sent is missing
  metrics.collect(nodeMetrics.httpTraffic, () => ({ received: 1 }));
});

test('media workers are counted, and have usage while they run', async () => {
  const idle = { pid: undefined, port: 1, rooms: 0, forwardedTracks: 0, restarts: 1, hangs: 0, state: 'restarting' as const };
  const workers = [{ ...idle, pid: process.pid, rooms: 12, forwardedTracks: 13, restarts: 14, hangs: 27 }, idle];
  const metrics = new Metrics();
  metrics.collect(nodeMetrics.workers, () => workerReadings(workers));
  metrics.collectSlow(nodeMetrics.workerProcesses, () => workerProcessReadings(workers));
  const samples = samplesOf(await metrics.text());
  const expected = {
    svc_forwarded_tracks: 13,
    svc_workers: 1,
    'svc_worker_rooms{worker="0"}': 12,
    'svc_worker_forwarded_tracks{worker="0"}': 13,
    'svc_worker_restarts_total{worker="0"}': 14,
    'svc_worker_restarts_total{worker="1"}': 1,
    'svc_worker_hangs_total{worker="0"}': 27,
    'svc_worker_hangs_total{worker="1"}': 0,
  };
  for (const [sample, value] of Object.entries(expected)) assert.equal(samples.get(sample), value, sample);
  assert.ok((samples.get('svc_worker_resident_memory_bytes{worker="0"}') ?? 0) > 1_000_000);
  assert.equal(samples.has('svc_worker_resident_memory_bytes{worker="1"}'), false);
});

test('series of a room exist from its creation and are zero after its end', async () => {
  const series = new RoomSeries();
  const take = (type: EventType) => series.take({ type, roomId: 'r', incarnation: 'r' });
  const metrics = new Metrics();
  metrics.collect(nodeMetrics.roomSeries, () => series.readings());
  take('RoomCreated');
  take('PeerConnected');
  const room = async () =>
    [...samplesOf(await metrics.text())].filter(([sample]) => sample.includes('room_id="r"')).map(([, value]) => Math.min(value, 1));
  const [peers, time, duration, ...counters] = await room();
  assert.deepEqual([peers, ...counters], [1, 1, 0, 0]);
  assert.ok((time ?? 0) > 0 && (duration ?? 0) > 0);
  take('RoomDeleted');
  assert.deepEqual(await room(), [0, 0, 0, 0, 0, 0]);
});

test('request durations are reported in seconds, by route, method and status', async () => {
  const metrics = new Metrics();
  metrics.observe(nodeMetrics.requests.duration, { route: '/room', method: 'GET', status: '200' }, 0.25);
  const samples = samplesOf(await metrics.text());
  assert.equal(samples.get('svc_http_request_duration_seconds_sum{route="/room",method="GET",status="200"}'), 0.25);
});
