// Payloads: bytes and texts of LiveKit's packets as JSON values of messages and RPCs of a room, and back.
import type { Metadata } from '../../../api/json.ts';

/** Text that is JSON becomes its value, other bytes become `{base64}`. */
export function payloadOf(bytes: Uint8Array): Metadata {
  try {
    return jsonOf(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

/** Text that is JSON becomes its value. */
export function jsonOf(text: string): Metadata {
  try {
    return JSON.parse(text) as Metadata;
  } catch {
    return text;
  }
}

export function bytesOf(payload: Metadata): Uint8Array {
  const { base64 } = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
  if (typeof base64 === 'string' && Object.keys(payload as object).length === 1) return new Uint8Array(Buffer.from(base64, 'base64'));
  return new TextEncoder().encode(jsonText(payload));
}

/** Text remains itself. */
export function jsonText(payload: Metadata): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload);
}
