// Prometheus scrapes a node while rooms come and go: queries, dashboard and alerts return correct values.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { eventually } from '../kit/eventually.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { Prometheus } from '../kit/processes/prometheus.ts';
import { startNode, wholeRooms } from '../kit/processes/start-node.ts';

const monitoring = join(import.meta.dirname, '../../monitoring');
const dashboardSchema = z.object({ panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })) });

/** Resolves when the expression has exactly this value. */
async function sees(prometheus: Prometheus, expression: string, expected: number): Promise<void> {
  let last: number | undefined;
  const check = async () => {
    last = await single(prometheus, expression);
    return last === expected;
  };
  await eventually(() => `${expression} is ${expected}, not ${last}`, check, { every: scrapePause });
}

async function single(prometheus: Prometheus, expression: string): Promise<number | undefined> {
  const samples = await prometheus.query(expression);
  assert.ok(samples.length <= 1, expression);
  return samples[0]?.value;
}

/** Prometheus does not report scrapes, so it is polled. */
const scrapePause = 200;

test('Prometheus has correct values while rooms come and go, and alerts about a lost worker and node', async (t) => {
  const node = await startNode(t, wholeRooms);
  const { api } = node;
  const { host } = new URL(node.metricsUrl);
  const prometheus = await Prometheus.start(t, { mediarooms: [host] }, [join(monitoring, 'alert-rules.yaml')]);
  await sees(prometheus, 'svc_rooms{job="mediarooms"}', 0);

  await api.post('/room', { roomId: 'a' });
  await api.post('/room', { roomId: 'b' });
  const alice = await enterRoom(t, node, 'a');
  await enterRoom(t, node, 'a');
  await enterRoom(t, node, 'b');
  await sees(prometheus, 'svc_peers', 3);
  const three = {
    svc_rooms: 2,
    'svc_room_peers{room_id="a"}': 2,
    'svc_room_peers{room_id="b"}': 1,
    'sum(svc_room_peer_connects_total)': 3,
  };
  for (const [expression, value] of Object.entries(three)) await sees(prometheus, expression, value);

  await alice.request('leave');
  await sees(prometheus, 'svc_room_peer_disconnects_total{room_id="a"}', 1);
  await api.delete('/room/a');
  await sees(prometheus, 'svc_rooms', 1);
  const one = {
    svc_peers: 1,
    'svc_room_peers{room_id="a"}': 0,
    'sum(svc_room_peers)': 1,
    'max_over_time(svc_peers[10m])': 3,
    'svc_http_request_duration_seconds_count{route="/room",method="POST",status="201"}': 2,
    svc_workers: 1,
    'max(svc_room_peer_time_total_seconds) == bool max(svc_room_peer_time_total_seconds{room_id="b"})': 1,
    'increase(svc_traffic_ingress_http_total_bytes[10m]) > bool 1000': 1,
  };
  for (const [expression, value] of Object.entries(one)) await sees(prometheus, expression, value);

  process.kill(node.node.parts.media.workers()[0]?.pid ?? 0, 'SIGKILL');
  await sees(prometheus, 'svc_worker_restarts_total', 1);
  await sees(prometheus, 'svc_rooms', 0);
  await sees(prometheus, 'count(ALERTS{alertname=~"MediaroomsWorkerRestarted|MediaroomsRoomsCrash", alertstate="firing"})', 2);
  await node.close();
  await sees(prometheus, 'up', 0);
  await sees(prometheus, 'count(ALERTS{alertname="MediaroomsNodeDown", alertstate="pending"})', 1);
});

test('Prometheus evaluates every query of the dashboard with the values of the node', async (t) => {
  const { api, metricsUrl } = await startNode(t);
  const { host } = new URL(metricsUrl);
  await api.post('/room', { roomId: 'r' });
  const prometheus = await Prometheus.start(t, { mediarooms: [host] });
  await sees(prometheus, 'count_over_time(svc_rooms[1m]) >= bool 3', 1);
  const { panels } = dashboardSchema.parse(JSON.parse(readFileSync(join(monitoring, 'grafana-dashboard.json'), 'utf8')));
  const check = async () => {
    const empty: string[] = [];
    for (const { title, targets } of panels) {
      const answers = await Promise.all(
        targets.map(({ expr }) =>
          prometheus.query(
            expr
              .replaceAll('$job', 'mediarooms')
              .replaceAll('$instance', '.+')
              .replaceAll(/\$__(rate_interval|range)/g, '1m'),
          ),
        ),
      );
      if (answers.every((samples) => samples.length === 0)) empty.push(title);
    }
    return empty;
  };
  // Without failures there is no failure rate.
  const expected = ['HTTP errors'];
  let empty: string[] = [];
  const isWhole = async () => {
    empty = await check();
    return empty.length <= expected.length;
  };
  // A scrape of more than its interval leaves no data until the next one.
  await eventually(() => `only ${expected} are empty, and ${empty} are`, isWhole, { every: scrapePause });
  assert.deepEqual(empty, expected);
});
