// Signed requests: authenticate the operator with an HMAC-SHA256 keyed with an API token, without sending the token over the cluster
// network. The client side is operator/nodes/signature.ts.
import { createHash, createHmac } from 'node:crypto';
import { ServiceError } from '../../../api/errors.ts';
import type { ApiToken, ApiTokens } from './api-tokens.ts';

/** Maximum difference between the time of a request and the clock of the node, in milliseconds. */
const window = 60_000;
/** How long a nonce is stored, in milliseconds: as long as its request could be valid. */
const remembered = 2 * window;
const maxNonces = 100_000;

export type SignedCallsOptions = {
  tokens: ApiTokens;
  /** SVC_INTERNAL_ADDRESS: the address that the request must be signed for. */
  address: () => string;
  /** Milliseconds since 1970. */
  now?: () => number;
  maxNonces?: number;
};

/** Verifies the body of a signed request; nothing may be executed before. @throws ServiceError `invalid_token`, `too_many_requests` */
export type TakeBody = (body: Uint8Array) => void;

type What = 'request' | 'socket';
type Parts = { address: string; time: string; nonce: string; body: string; code: Buffer };

export class SignedCalls {
  readonly #options: SignedCallsOptions;
  readonly #now: () => number;
  readonly #startedAt: number;
  /** Expiry times of nonces, oldest first. */
  readonly #nonces = new Map<string, number>();

  constructor(options: SignedCallsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#startedAt = this.#now();
  }

  /**
   * The token that signed a request: `Mediarooms-Signature v1.<address>.<time>.<nonce>.<hash of the body>.<code>`. The nonce is used up
   * once the body was verified.
   * @param path as requested, with its query and without the path of SVC_HOST
   * @param client IP address, for the limit of failed attempts
   * @throws ServiceError `invalid_token`, `too_many_requests`
   */
  request(signature: string, { method, path }: { method: string; path: string }, client: string): { token: ApiToken; takeBody: TakeBody } {
    const parts = this.#read('request', signature, client);
    const token = this.#check('request', parts, [method, path, parts.body], client);
    const takeBody = (body: Uint8Array) => {
      if (createHash('sha256').update(body).digest('base64url') !== parts.body) throw invalid('The body does not match the signature');
      this.#remember(parts.nonce);
    };
    return { token, takeBody };
  }

  /** Like request(), for the event socket: the same signature without the body hash. */
  socket(signature: string, client: string): ApiToken {
    const parts = this.#read('socket', signature, client);
    const token = this.#check('socket', parts, [], client);
    this.#remember(parts.nonce);
    return token;
  }

  #read(what: What, signature: string, client: string): Parts {
    const {
      address = '',
      time = '',
      nonce = '',
      body = '',
      code = '',
    } = forms[what].exec(signature)?.groups ?? this.#refuse(client, 'Unsupported signature format');
    const decoded = (text: string) => Buffer.from(text, 'base64url');
    return { address: decoded(address).toString(), time, nonce, body, code: decoded(code) };
  }

  /** Checks the code first: a client without a token learns nothing else, and its nonces are not stored. */
  #check(what: What, { address, time, nonce, code }: Parts, more: readonly string[], client: string): ApiToken {
    const text = [`mediarooms v1 ${what}`, address, time, nonce, ...more].join('\n');
    const token = this.#options.tokens.findBy(code, (key) => createHmac('sha256', key).update(text).digest());
    if (!token) this.#refuse(client, 'Invalid signature');
    if (address !== hostOf(this.#options.address())) throw invalid('The signature is for another node');
    const at = Number(time);
    if (Math.abs(at - this.#now()) > window)
      throw invalid(`The time of the signature differs by more than ${window / 1000} s from the clock of the node`);
    // Nonces of earlier requests are lost.
    if (at < this.#startedAt) throw invalid('The signature is older than the start of the node');
    return token;
  }

  #remember(nonce: string): void {
    const now = this.#now();
    for (const [old, until] of this.#nonces) {
      if (until > now) break;
      this.#nonces.delete(old);
    }
    if (this.#nonces.has(nonce)) throw invalid('The signature was already used');
    if (this.#nonces.size >= (this.#options.maxNonces ?? maxNonces))
      throw new ServiceError('too_many_requests', 'Too many signed requests within two minutes', { retryAfter: 1 });
    this.#nonces.set(nonce, now + remembered);
  }

  #refuse(client: string, message: string): never {
    throw this.#options.tokens.refusal(client, message);
  }
}

/** For a client that has the token, or replays a request of one: not a failed attempt. */
function invalid(message: string): ServiceError {
  return new ServiceError('invalid_token', message);
}

/** True if an Authorization value is a signature. */
export function isSignature(text: string): boolean {
  return /^mediarooms-signature /i.test(text);
}

const start = '^mediarooms-signature +v1\\.(?<address>[\\w-]{1,400})\\.(?<time>\\d{13})\\.(?<nonce>[\\w-]{22})';
const forms = {
  request: new RegExp(`${start}\\.(?<body>[\\w-]{43})\\.(?<code>[\\w-]{43}) *$`, 'i'),
  socket: new RegExp(`${start}\\.(?<code>[\\w-]{43}) *$`, 'i'),
};

/** Normalized as in URLs: IPv6 in its shortest form. */
function hostOf(address: string): string {
  return URL.parse(`http://${address}`)?.host ?? address;
}
