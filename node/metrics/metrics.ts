// Prometheus metrics: reads the groups of api/metrics.ts at each scrape, and adds the metrics of Node.js.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Metric, nodeMetrics, type Readings, type ReadMetric } from '../../api/metrics.ts';
import type { MetricGroup, MetricsRegistry } from '../common/feature-context.ts';

/** Gauges of Node.js with names of counters, which the linter of Prometheus rejects. The same values exist by type. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

type Series = Gauge | Counter;

export class Metrics implements MetricsRegistry {
  readonly #registry = new Registry();
  readonly #series = new Map<Metric, Series>();
  readonly #histograms = new Map<Metric, Histogram>();
  readonly #readers: (() => void)[] = [];
  readonly #slowReaders: (() => Promise<void>)[] = [];

  /** All metrics exist from the start; collect() gives them values. */
  constructor() {
    // Each sample of the event loop delay wakes the process. Ten per second are enough; the default of a hundred costs more than signaling.
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 100 });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
    const metrics = Object.values(nodeMetrics).flatMap((group): (typeof nodeMetrics.requests.duration | ReadMetric)[] =>
      Object.values(group),
    );
    for (const metric of metrics) {
      const { name, help } = metric;
      const options = { name, help, labelNames: [...metric.labels], registers: [this.#registry] };
      if ('buckets' in metric) this.#histograms.set(metric, new Histogram({ ...options, buckets: [...metric.buckets] }));
      else this.#series.set(metric, metric.type === 'gauge' ? new Gauge(options) : new Counter(options));
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  collect<Read extends MetricGroup>(group: Read, read: () => Readings<Read>): void {
    this.#readers.push(() => this.#fill(group, read()));
  }

  collectSlow<Read extends MetricGroup>(group: Read, read: () => Promise<Readings<Read>>): void {
    this.#slowReaders.push(async () => this.#fill(group, await read()));
  }

  observe<Label extends string>(histogram: Metric<Label>, labels: Record<Label, string>, value: number): void {
    this.#histograms.get(histogram)?.observe(labels, value);
  }

  /** The text of one scrape. */
  async text(): Promise<string> {
    // Slow values first, so that all other values belong to the same time.
    await Promise.all(this.#slowReaders.map((read) => read()));
    for (const read of this.#readers) read();
    return this.#registry.metrics();
  }

  #fill<Read extends MetricGroup>(group: Read, readings: Readings<Read>): void {
    for (const [name, metric] of Object.entries(group)) {
      const series = this.#series.get(metric);
      const reading: number | Readings<MetricGroup>[string] = readings[name as keyof Read];
      series?.reset();
      for (const [labels, value] of typeof reading === 'number' ? [[{}, reading] as const] : reading) series?.inc(labels, value);
    }
  }
}
