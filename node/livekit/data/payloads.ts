// Payloads: bytes and texts of LiveKit's packets as JSON values of messages and RPCs of a room, and back.
import { isUtf8 } from 'node:buffer';
import type { Metadata } from '../../../api/json.ts';

/** Text that is JSON becomes its value, other bytes become `{base64}`. */
export function payloadOf(bytes: Uint8Array): Metadata {
  try {
    return jsonOf(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

/** Like payloadOf(), but bytesOf() returns a text unchanged, also one that is a JSON string or has the form of bytes. */
export function messagePayloadOf(bytes: Uint8Array): Metadata {
  const payload = payloadOf(bytes);
  const isAmbiguous = typeof payload === 'string' || isBytes(payload);
  return isAmbiguous && isUtf8(bytes) ? Buffer.from(bytes).toString() : payload;
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
  if (isBytes(payload)) return new Uint8Array(Buffer.from(payload.base64, 'base64'));
  return new TextEncoder().encode(jsonText(payload));
}

/** Text remains itself. */
export function jsonText(payload: Metadata): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload);
}

function isBytes(payload: Metadata): payload is { base64: string } {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return false;
  return typeof payload.base64 === 'string' && Object.keys(payload).length === 1;
}
