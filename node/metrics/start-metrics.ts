// Metrics server of a node: starts it by the settings.
import type { FeatureContext } from '../common/feature-context.ts';
import type { Metrics } from './metrics.ts';
import { MetricsServer } from './metrics-server.ts';

export type MetricsContext = Pick<FeatureContext, 'log' | 'closers'> & {
  config: { metrics: { ip: string; port: number } };
  metrics: Metrics;
};

/** @throws Error with a readable message */
export async function startMetricsServer({ config, metrics, log, closers }: MetricsContext): Promise<MetricsServer> {
  const server = await MetricsServer.start({ ...config.metrics, metrics, log });
  closers.add('files', () => server.close());
  return server;
}
