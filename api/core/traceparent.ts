// Trace context (W3C Trace Context): the header traceparent of requests, of websockets and of webhooks.

export const traceparentHeader = 'traceparent';

export type TraceContext = { traceId: string; spanId: string; sampled: boolean };

/** Version, trace id, span id, flags. Versions after 00 may append fields; ff is invalid (W3C Trace Context, section 3.2.2). */
const pattern = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.{0,256})?$/;

/** @returns undefined for anything that is no valid traceparent, which the standard ignores */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = (typeof text === 'string' && pattern.exec(text)) || [];
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
