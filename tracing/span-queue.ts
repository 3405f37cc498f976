// Span queue: bounds the spans that wait for the collector, and counts those that it accepted and those that were lost.
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';

export type SpanQueueOptions = {
  exporter: SpanExporter;
  maxPending: number;
  /** Makes the processor that batches spans for the exporter. */
  process: (exporter: SpanExporter) => SpanProcessor;
  /** The collector did not accept spans; called at the first failure after a success. */
  failed: (error: Error | undefined) => void;
};

export class SpanQueue implements SpanProcessor {
  readonly #options: SpanQueueOptions;
  readonly #processor: SpanProcessor;
  readonly #counters = { exported: 0, dropped: 0 };
  #pending = 0;
  #failing = false;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
    const { exporter, process } = options;
    this.#processor = process({
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          // ExportResultCode.SUCCESS of @opentelemetry/core is 0.
          this.#exported(spans.length, result.code === 0, result.error);
          done(result);
        }),
      forceFlush: async () => exporter.forceFlush?.(),
      shutdown: () => exporter.shutdown(),
    });
  }

  counters(): { exported: number; dropped: number } {
    return { ...this.#counters };
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#pending >= this.#options.maxPending) {
      this.#counters.dropped += 1;
      return;
    }
    this.#pending += 1;
    this.#processor.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#processor.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#processor.shutdown();
  }

  #exported(count: number, accepted: boolean, error: Error | undefined): void {
    this.#pending -= count;
    this.#counters[accepted ? 'exported' : 'dropped'] += count;
    if (!accepted && !this.#failing) this.#options.failed(error);
    this.#failing = !accepted;
  }
}
