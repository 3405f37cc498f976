// Metrics of a node: which part gives the values of each group.
import { nodeMetrics } from '../api/metrics.ts';
import type { EventLog } from './events/event-log.ts';
import { workerProcessReadings, workerReadings } from './media/worker/worker-metrics.ts';
import { Metrics } from './metrics/metrics.ts';
import { RoomSeries } from './metrics/room-series.ts';
import type { NodeServices, Servers } from './node-services.ts';
import { roomReadings } from './rooms/room-metrics.ts';

type Sources = Pick<NodeServices, 'rooms' | 'media' | 'webhooks' | 'uploads'> & { events: EventLog; servers: Servers };

export function collectMetrics({ rooms, media, webhooks, uploads, events, servers }: Sources): Metrics {
  const roomSeries = new RoomSeries();
  events.subscribe(({ event }) => roomSeries.take(event));
  const metrics = new Metrics();
  metrics.collect(nodeMetrics.rooms, () => roomReadings(rooms));
  metrics.collect(nodeMetrics.workers, () => workerReadings(media.workers()));
  metrics.collectSlow(nodeMetrics.workerProcesses, () => workerProcessReadings(media.workers()));
  metrics.collect(nodeMetrics.cluster, () => ({ nodes: servers.distribution?.status.nodesInCluster || 1 }));
  metrics.collect(nodeMetrics.roomSeries, () => roomSeries.readings());
  metrics.collectSlow(nodeMetrics.mediaTraffic, () => media.traffic());
  metrics.collect(nodeMetrics.httpTraffic, () => servers.http?.traffic ?? { received: 0, sent: 0 });
  metrics.collect(nodeMetrics.webhooks, () => webhooks.counters());
  metrics.collect(nodeMetrics.uploads, () => uploads.figures());
  return metrics;
}
