// Webhooks as they come in: trusted only with a good signature (Standard Webhooks) that was made lately.
import { boundedText } from './bounded-body.ts';
import { MediaroomsError } from './errors.ts';
import type { RoomEvent } from './generated/events.ts';

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const maxBodyBytes = 1024 * 1024;
const maxSignatures = 20;
const defaultTolerance = 5 * 60_000;

export type WebhookVerifierOptions = {
  /** `whsec_…`, as SVC_WEBHOOK_SECRET has it. Several while a secret is changed: each of them is good. */
  secrets: string | readonly string[];
  /** How far the time of a try may be from that of this machine, in milliseconds; five minutes by default. */
  tolerance?: number;
};

/** Headers as runtimes give them: of the Fetch API, or an object with names in small letters (`request.headers` of Node.js). */
export type WebhookHeaders = Headers | Record<string, string | readonly string[] | undefined>;

/** A webhook that was verified. `id` is the same at every try: pass over what you have seen. */
export type Webhook = { id: string; sentAt: Date; event: RoomEvent };

export class WebhookVerifier {
  readonly #secrets: Uint8Array<ArrayBuffer>[];
  readonly #tolerance: number;
  #keys: Promise<Key[]> | undefined;

  /** @throws TypeError where a secret is none */
  constructor({ secrets, tolerance = defaultTolerance }: WebhookVerifierOptions) {
    this.#secrets = (typeof secrets === 'string' ? secrets.trim().split(/\s+/) : [...secrets]).map(bytesOfSecret);
    if (this.#secrets.length === 0) throw new TypeError('Expected at least one secret');
    this.#tolerance = tolerance;
  }

  /** `body`: exactly as it came, before anything parses it. @throws MediaroomsError `invalid_webhook` */
  async verify(body: string | Uint8Array, headers: WebhookHeaders): Promise<Webhook> {
    const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
    if (!id || !timestamp || !signatures) throw invalid('A header of the webhook is missing');
    if (!/^\d{1,12}$/.test(timestamp)) throw invalid('The time of the webhook is none');
    const sentAt = Number(timestamp) * 1000;
    if (Math.abs(Date.now() - sentAt) > this.#tolerance) throw invalid('The webhook is too old or too new');
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    if (bytes.byteLength > maxBodyBytes) throw invalid(`The webhook has more than ${maxBodyBytes} bytes`);
    if (!(await this.#isSigned(joined(`${id}.${timestamp}.`, bytes), signatures))) throw invalid('The signature of the webhook is wrong');
    return { id, sentAt: new Date(sentAt), event: eventOf(bytes) };
  }

  /** A request of the Fetch API, whose body nobody has read yet. @throws MediaroomsError `invalid_webhook` */
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
    throw invalid('The webhook is no JSON', error);
  }
  throw invalid('The webhook is no event');
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  const value = (headers as Exclude<WebhookHeaders, Headers>)[name];
  return typeof value === 'string' ? value : undefined;
}

function bytesOfSecret(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith('whsec_') ? fromBase64(secret.slice('whsec_'.length)) : undefined;
  // What the server takes: 24 to 64 bytes.
  if (!bytes || bytes.byteLength < 24 || bytes.byteLength > 64)
    throw new TypeError('Expected a secret to be whsec_ and the base64 of 24 to 64 bytes');
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
