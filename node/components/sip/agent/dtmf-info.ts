// DTMF in INFO requests: application/dtmf-relay and application/dtmf, as most gateways send them.

export type DtmfInfo = { digit: string /** Milliseconds. */; duration: number };

const defaultDuration = 160;
const maxDtmfDurationMs = 10_000;

/** @returns undefined if the body is invalid */
export function parseDtmfInfo(contentType: string | undefined, body: string): DtmfInfo | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (body.length > 256) return undefined;
  const relay = type === 'application/dtmf-relay';
  if (!relay && type !== 'application/dtmf') return undefined;
  const signal = relay ? /^Signal\s*=\s*(\S{1,2})\s*$/im.exec(body)?.[1] : body.trim();
  const duration = Number(/^Duration\s*=\s*(\d{1,6})\s*$/im.exec(body)?.[1] ?? defaultDuration);
  const digit = signal && digitOf(signal.toUpperCase());
  return digit ? { digit, duration: Math.min(duration, maxDtmfDurationMs) } : undefined;
}

/** Also accepts event codes of RFC 4733: 10 is the star, 11 the hash. */
function digitOf(signal: string): string | undefined {
  if (signal === '10') return '*';
  if (signal === '11') return '#';
  return /^[0-9A-D*#]$/.test(signal) ? signal : undefined;
}
