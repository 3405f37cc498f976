// Spans as node and operator see them. otlp-tracer.ts implements them; without a collector it is not loaded, and no span exists.

export type SpanKind = 'server' | 'client' | 'internal';
/** Ids, numbers and names only: never tokens, URLs with paths, metadata or messages of users. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;
/** `startedMs` milliseconds ago. */
export type SpanOptions = { attributes?: Attributes; startedMs?: number };

export interface Span {
  /** For requests that this span causes. */
  readonly traceparent: string;
  child(name: string, kind: SpanKind, options?: SpanOptions): Span;
  set(attributes: Attributes): void;
  /** `code`: an error code, never a message. */
  fail(code: string): void;
  end(): void;
}

export interface Tracer {
  /**
   * A span in the trace of `parent`, a traceparent. Undefined if `parent` is missing, invalid or not sampled, or without a collector.
   * `mayBegin`: without a parent, a new trace begins, if it is sampled.
   */
  start(name: string, kind: SpanKind, options: SpanOptions & { parent: string | undefined; mayBegin?: boolean }): Span | undefined;
}

export const noTracer: Tracer = { start: () => undefined };

/** Ends the span after the work. `codeOf`: error code of a failure. @throws what the work throws */
export async function traced<Result>(
  span: Span | undefined,
  codeOf: (error: unknown) => string,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    span?.fail(codeOf(error));
    throw error;
  } finally {
    span?.end();
  }
}
