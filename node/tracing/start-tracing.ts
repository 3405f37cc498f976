// Tracing of a node: without a collector nothing is loaded, and every span is undefined.
import { nodeMetrics } from '../../api/metrics.ts';
import { noTracer, type Tracer } from '../../tracing/spans.ts';
import type { FeatureContext } from '../common/feature-context.ts';

/** Milliseconds in which the last spans are exported at the end of the node. */
const flushTimeoutMs = 2_000;

export type TracingContext = Pick<FeatureContext, 'log' | 'metrics' | 'closers'> & {
  config: { traces: { endpoint: string | null; samplePercent: number } };
  /** Name of this node. */
  node: string;
  version: string;
};

export async function createTracing({ config, metrics, closers, log, node, version }: TracingContext): Promise<Tracer> {
  const { endpoint, samplePercent } = config.traces;
  if (endpoint === null) {
    metrics.collect(nodeMetrics.traces, () => ({ exported: 0, dropped: 0 }));
    return noTracer;
  }
  const { OtlpTracer } = await import('../../tracing/otlp-tracer.ts');
  const failed = (err: Error | undefined) => log.warn({ err }, 'could not export spans');
  const tracer = new OtlpTracer({ endpoint, samplePercent, service: 'mediarooms', instance: node, version, failed });
  metrics.collect(nodeMetrics.traces, () => tracer.counters());
  closers.add('files', (ending) => tracer.close(ending.timeout(flushTimeoutMs)));
  return tracer;
}
