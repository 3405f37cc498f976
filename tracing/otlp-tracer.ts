// OTLP tracer: spans of OpenTelemetry, exported in batches over HTTP to a collector.
import {
  type Context,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind as SpanKinds,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { parseTraceparent, traceparentOf } from '../api/core/traceparent.ts';
import { SpanQueue } from './span-queue.ts';
import type { Attributes, Span, SpanKind, SpanOptions, Tracer } from './spans.ts';

/** Pending spans; further ones are dropped and counted. */
const maxPendingSpans = 4_096;
const maxBatch = 512;
/** Milliseconds between exports, and for one export. */
const exportIntervalMs = 2_000;
const exportTimeoutMs = 10_000;
const kinds = { server: SpanKinds.SERVER, client: SpanKinds.CLIENT, internal: SpanKinds.INTERNAL } as const satisfies Record<
  SpanKind,
  SpanKinds
>;

export type OtlpTracerOptions = {
  endpoint: string;
  /** Share of new traces. */
  samplePercent: number;
  service: string;
  instance: string;
  version: string;
  /** The collector did not accept spans. */
  failed: (error: Error | undefined) => void;
  random?: () => number;
};

export class OtlpTracer implements Tracer {
  readonly #queue: SpanQueue;
  readonly #provider: BasicTracerProvider;
  readonly #begin: BeginSpan;
  readonly #sampled: () => boolean;

  constructor({ endpoint, samplePercent, service, instance, version, failed, random = Math.random }: OtlpTracerOptions) {
    this.#queue = new SpanQueue({
      exporter: new OTLPTraceExporter({ url: endpoint, timeoutMillis: exportTimeoutMs }),
      maxPending: maxPendingSpans,
      failed,
      process: (exporter) =>
        new BatchSpanProcessor(exporter, {
          maxQueueSize: maxPendingSpans,
          maxExportBatchSize: maxBatch,
          scheduledDelayMillis: exportIntervalMs,
          exportTimeoutMillis: exportTimeoutMs,
        }),
    });
    this.#provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ 'service.name': service, 'service.instance.id': instance, 'service.version': version }),
      sampler: new AlwaysOnSampler(),
      spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256 },
      spanProcessors: [this.#queue],
    });
    const tracer = this.#provider.getTracer(service, version);
    this.#begin = (name, kind, { attributes = {}, startedMs }, context) =>
      tracer.startSpan(
        name,
        { kind: kinds[kind], attributes, ...(startedMs !== undefined && { startTime: Date.now() - startedMs }) },
        context,
      );
    this.#sampled = () => random() * 100 < samplePercent;
  }

  start(name: string, kind: SpanKind, options: SpanOptions & { parent: string | undefined; mayBegin?: boolean }): Span | undefined {
    const parent = parseTraceparent(options.parent);
    if (parent ? !parent.sampled : !options.mayBegin || !this.#sampled()) return undefined;
    const remote = parent && { traceId: parent.traceId, spanId: parent.spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
    const context = remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
    return new OtlpSpan(this.#begin(name, kind, options, context), this.#begin);
  }

  counters(): { exported: number; dropped: number } {
    return this.#queue.counters();
  }

  /** Exports the rest for at most `timeoutMs`. */
  async close(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([this.#provider.shutdown().catch(() => {}), late]);
    clearTimeout(timer);
  }
}

type BeginSpan = (name: string, kind: SpanKind, options: SpanOptions, context: Context) => OtelSpan;

class OtlpSpan implements Span {
  readonly #span: OtelSpan;
  readonly #begin: BeginSpan;

  constructor(span: OtelSpan, begin: BeginSpan) {
    this.#span = span;
    this.#begin = begin;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext();
    return traceparentOf({ traceId, spanId, sampled: true });
  }

  child(name: string, kind: SpanKind, options: SpanOptions = {}): Span {
    return new OtlpSpan(this.#begin(name, kind, options, trace.setSpan(ROOT_CONTEXT, this.#span)), this.#begin);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  fail(code: string): void {
    this.#span.setAttribute('error.type', code);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}
