// Feature context: where a feature of a node registers its operations, its metrics and its end.
import type { Histogram, Readings, ReadMetric } from '../../api/metrics.ts';
import type { OperationRegistry } from '../rooms/services/operations.ts';
import type { Closers } from './end-of-node.ts';
import type { Log } from './log.ts';

/** Metrics that are read together, by name. */
export type MetricGroup = Record<string, ReadMetric>;

export interface MetricsRegistry {
  /** Reads a group at each scrape. */
  collect<Read extends MetricGroup>(group: Read, read: () => Readings<Read>): void;
  /** As collect(), for values that take time. `read` must be bounded in time and never reject. */
  collectSlow<Read extends MetricGroup>(group: Read, read: () => Promise<Readings<Read>>): void;
  /** Adds one value to a histogram. */
  observe<Label extends string>(histogram: Histogram<Label>, labels: Record<Label, string>, value: number): void;
}

export type FeatureContext = { log: Log; registry: OperationRegistry; metrics: MetricsRegistry; closers: Closers };
