// Events of a node: the log of its events, and the webhooks that get them.
import { join } from 'node:path';
import type { RoomEvent } from '../../api/events.ts';
import { nodeMetrics } from '../../api/metrics.ts';
import type { Tracer } from '../../tracing/spans.ts';
import type { FeatureContext } from '../common/feature-context.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import { EventLog } from './event-log.ts';
import { WebhookStore } from './webhooks/store.ts';
import { Webhooks } from './webhooks/webhooks.ts';

/** Milliseconds for final attempts at the end of the node. */
const webhookTimeoutMs = 3_000;

export type EventsContext = Pick<FeatureContext, 'log' | 'metrics' | 'closers'> & {
  tracer: Tracer;
  hot: Pick<ReloadableConfigView, 'current'>;
  /** Name of this node. */
  node: string;
  /** Absolute path of the resources directory. */
  resources: string;
  userAgent: string;
  /** Takes pending webhooks at the end of this node. */
  others: { readonly possible: boolean; handOver(batch: unknown): Promise<void> };
};

export type StartedEvents = {
  eventLog: EventLog;
  webhooks: Webhooks;
  /** `webhookUrl`: the receiver of the room. `trace`: traceparent of the cause. */
  publish: (event: RoomEvent, webhookUrl: string | null, trace?: string) => void;
};

export async function createEvents({
  log,
  metrics,
  closers,
  hot,
  node,
  resources,
  userAgent,
  others,
  tracer,
}: EventsContext): Promise<StartedEvents> {
  const eventLog = new EventLog(log, { node });
  const webhooks = new Webhooks({
    log,
    store: await WebhookStore.open({ log, base: join(resources, 'webhooks'), name: node }),
    settings: () => ({ ...hot.current.webhooks, pendingMaxBytes: hot.current.limits.pendingMaxBytes }),
    userAgent,
    tracer,
  });
  closers.add('webhooks', (ending) =>
    webhooks.close(ending.timeout(webhookTimeoutMs), others.possible ? (batch) => others.handOver(batch) : undefined),
  );
  metrics.collect(nodeMetrics.webhooks, () => webhooks.counters());
  const publish = (event: RoomEvent, webhookUrl: string | null, trace?: string) => {
    webhooks.publish(event, webhookUrl, trace);
    eventLog.publish(event);
  };
  return { eventLog, webhooks, publish };
}
