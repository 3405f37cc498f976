// Metrics: values of a scrape.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventType, RoomEvent } from '../../../api/events.ts';
import { emptyMetrics, samplesOf } from '../../kit/fakes/metrics.ts';

function event(type: EventType, roomId: string): RoomEvent {
  return { id: 'i', type, time: new Date().toISOString(), node: 'n', incarnation: roomId, roomId };
}

test('values are those at the time of the scrape, not of an earlier one', async () => {
  const counts = { rooms: 1, peers: 2, tracks: { audio: 3, video: 4 }, components: { file: 5 } as Record<string, number> };
  const metrics = emptyMetrics({
    rooms: () => counts,
    forwardedTracks: () => 6,
    clusterNodes: () => 7,
    mediaTraffic: async () => ({ received: 8, sent: 9 }),
    httpTraffic: () => ({ received: 10, sent: 11 }),
    webhooks: () => ({ delivered: 15, retries: 16, dead: 17, pending: 18, pendingBytes: 19, spoolErrors: 20, spoolBytes: 21 }),
    uploads: () => ({ pending: 22, bytes: 23, done: 24, failures: 25, givenUp: 26 }),
    workers: () => [
      { pid: process.pid, rooms: 12, forwardedTracks: 13, restarts: 14, hangs: 27 },
      { pid: undefined, rooms: 0, forwardedTracks: 0, restarts: 1, hangs: 0 },
    ],
  });
  const samples = samplesOf(await metrics.text());
  const expected = {
    svc_rooms: 1,
    svc_peers: 2,
    'svc_tracks{kind="audio"}': 3,
    'svc_tracks{kind="video"}': 4,
    'svc_components{type="file"}': 5,
    svc_forwarded_tracks: 6,
    svc_cluster_nodes: 7,
    svc_traffic_ingress_webrtc_total_bytes: 8,
    svc_traffic_egress_webrtc_total_bytes: 9,
    svc_traffic_ingress_http_total_bytes: 10,
    svc_traffic_egress_http_total_bytes: 11,
    svc_webhook_delivered_total: 15,
    svc_webhook_retries_total: 16,
    svc_webhook_dead_letters_total: 17,
    svc_webhook_pending: 18,
    svc_webhook_pending_bytes: 19,
    svc_webhook_spool_errors_total: 20,
    svc_webhook_spool_bytes: 21,
    svc_uploads_pending: 22,
    svc_upload_bytes_total: 23,
    svc_uploads_done_total: 24,
    svc_upload_failures_total: 25,
    svc_uploads_given_up_total: 26,
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
  counts.rooms = 0;
  counts.components = {};
  const later = samplesOf(await metrics.text());
  assert.equal(later.get('svc_rooms'), 0);
  assert.equal(later.has('svc_components{type="file"}'), false);
});

test('series of a room exist from its creation and are zero after its end', async () => {
  const metrics = emptyMetrics();
  metrics.roomEvent(event('RoomCreated', 'r'));
  metrics.roomEvent(event('PeerConnected', 'r'));
  const room = async () =>
    [...samplesOf(await metrics.text())].filter(([sample]) => sample.includes('room_id="r"')).map(([, value]) => Math.min(value, 1));
  const [peers, time, duration, ...counters] = await room();
  assert.deepEqual([peers, ...counters], [1, 1, 0, 0]);
  assert.ok((time ?? 0) > 0 && (duration ?? 0) > 0);
  metrics.roomEvent(event('RoomDeleted', 'r'));
  assert.deepEqual(await room(), [0, 0, 0, 0, 0, 0]);
});

test('request durations are reported in seconds, by route, method and status', async () => {
  const metrics = emptyMetrics();
  metrics.httpRequest({ route: '/room', method: 'GET', status: 200, duration: 250 });
  const samples = samplesOf(await metrics.text());
  assert.equal(samples.get('svc_http_request_duration_seconds_sum{route="/room",method="GET",status="200"}'), 0.25);
});
