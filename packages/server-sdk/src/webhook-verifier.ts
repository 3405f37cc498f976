// Webhook verifier: accepts webhooks only with a valid and recent signature (Standard Webhooks).
import { boundedText } from './bounded-body.ts';
import { MediaroomsError } from './errors.ts';
import type { RoomEvent } from './generated/events.ts';

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const maxBodyBytes = 1024 * 1024;
const maxSignatures = 20;
const defaultTolerance = 5 * 60_000;

export type WebhookVerifierOptions = {
  /** `whsec_…`, as in SVC_WEBHOOK_SECRET. During a rotation several secrets are valid. */
  secrets: string | readonly string[];
  /** Maximum difference between the time of an attempt and the local clock, in milliseconds; default five minutes. */
  tolerance?: number;
};

/** Headers of the Fetch API, or an object with lower-case names (`request.headers` of Node.js). */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

/** A verified webhook. `id` is the same for every attempt: ignore ids that were processed before. */
export type Webhook = { id: string; sentAt: Date; event: RoomEvent };

export class WebhookVerifier {
  readonly #secrets: Uint8Array<ArrayBuffer>[];
  readonly #tolerance: number;
  #keys: Promise<Key[]> | undefined;

  /** @throws TypeError if a secret is invalid */
  constructor({ secrets, tolerance = defaultTolerance }: WebhookVerifierOptions) {
    this.#secrets = (typeof secrets === 'string' ? secrets.trim().split(/\s+/) : [...secrets]).map(bytesOfSecret);
    if (this.#secrets.length === 0) throw new TypeError('Expected at least one secret');
    this.#tolerance = tolerance;
  }

  /** Verifies a webhook. `body`: the unchanged bytes, before parsing. @throws MediaroomsError `invalid_webhook` */
  async verify(body: string | Uint8Array, headers: WebhookHeaders): Promise<Webhook> {
    const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
    if (!id || !timestamp || !signatures) throw invalid('A webhook header is missing');
    if (!/^\d{1,12}$/.test(timestamp)) throw invalid('The webhook timestamp is invalid');
    const sentAt = Number(timestamp) * 1000;
    if (Math.abs(Date.now() - sentAt) > this.#tolerance) throw invalid('The webhook timestamp is outside the tolerance');
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    if (bytes.byteLength > maxBodyBytes) throw invalid(`The webhook exceeds ${maxBodyBytes} bytes`);
    if (!(await this.#isSigned(joined(`${id}.${timestamp}.`, bytes), signatures))) throw invalid('The webhook signature is invalid');
    return { id, sentAt: new Date(sentAt), event: eventOf(bytes) };
  }

  /** Verifies a Request of the Fetch API whose body was not read yet. @throws MediaroomsError `invalid_webhook` */
  async verifyRequest(request: Request): Promise<Webhook> {
    const body = await boundedText(request.body, maxBodyBytes).catch((error: unknown) => {
      throw invalid('The webhook could not be read', error);
    });
    return this.verify(body, request.headers);
  }

  /** WebCrypto compares in constant time. */
  async #isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string): Promise<boolean> {
    this.#keys ??= Promise.all(
      this.#secrets.map((secret) => crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])),
    );
    const keys = await this.#keys;
    const given = signatures.split(' ', maxSignatures).flatMap((each) => (each.startsWith('v1,') ? [fromBase64(each.slice(3))] : []));
    const results = await Promise.all(
      given.flatMap((signature) => (signature ? keys.map((key) => crypto.subtle.verify('HMAC', key, signature, signed)) : [])),
    );
    return results.includes(true);
  }
}

function eventOf(bytes: Uint8Array): RoomEvent {
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof event === 'object' && event !== null && 'type' in event && typeof event.type === 'string') return event as RoomEvent;
  } catch (error) {
    throw invalid('The webhook body is not JSON', error);
  }
  throw invalid('The webhook body is not an event');
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const value = (headers as Exclude<WebhookHeaders, Headers>)[name];
  return typeof value === 'string' ? value : undefined;
}

function bytesOfSecret(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith('whsec_') ? fromBase64(secret.slice('whsec_'.length)) : undefined;
  // The server accepts 24 to 64 bytes.
  if (!bytes || bytes.byteLength < 24 || bytes.byteLength > 64)
    throw new TypeError('Expected secret to be whsec_ followed by the base64 of 24 to 64 bytes');
  return bytes;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(prefix: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(prefix);
  const whole = new Uint8Array(head.byteLength + bytes.byteLength);
  whole.set(head);
  whole.set(bytes, head.byteLength);
  return whole;
}

function invalid(message: string, cause?: unknown): MediaroomsError {
  return new MediaroomsError({ code: 'invalid_webhook', message, cause });
}
