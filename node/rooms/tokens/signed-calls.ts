// Calls whose sender shows that he has an API token without sending it, as the operator does over the cluster's network: an HMAC-SHA256
// of the call with the token as its key (operator/nodes/signature.ts is the other end).
import { createHash, createHmac } from 'node:crypto';
import { ServiceError } from '../../common/errors.ts';
import type { ApiToken, ApiTokens } from './api-tokens.ts';

/** By how much the time of a call may differ from the node's, in milliseconds. */
const window = 60_000;
/** How long a nonce is remembered: for as long as its call could be in time. */
const remembered = 2 * window;
const maxNonces = 100_000;

export type SignedCallsOptions = {
  tokens: ApiTokens;
  /** SVC_INTERNAL_ADDRESS: where the sender must have meant to send it. */
  address: () => string;
  /** Milliseconds since 1970. */
  now?: () => number;
  maxNonces?: number;
};

/** Takes the body of a signed request, of which nothing must happen before. @throws ServiceError `invalid_token`, `too_many_requests` */
export type TakeBody = (body: Uint8Array) => void;

type What = 'request' | 'socket';
type Parts = { address: string; time: string; nonce: string; body: string; code: Buffer };

export class SignedCalls {
  readonly #options: SignedCallsOptions;
  readonly #now: () => number;
  readonly #startedAt: number;
  /** Until when, the oldest first. */
  readonly #nonces = new Map<string, number>();

  constructor(options: SignedCallsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#startedAt = this.#now();
  }

  /**
   * Whose token a request is signed with: `Mediarooms-Signature v1.<address>.<time>.<nonce>.<hash of the body>.<code>`. It counts as sent once its
   * body has come.
   * @param path as it is asked for, with its query and without the path of SVC_HOST
   * @param client IP address, for the count of wrong tokens
   * @throws ServiceError `invalid_token`, `too_many_requests`
   */
  request(signature: string, { method, path }: { method: string; path: string }, client: string): { token: ApiToken; takeBody: TakeBody } {
    const parts = this.#read('request', signature, client);
    const token = this.#check('request', parts, [method, path, parts.body], client);
    const takeBody = (body: Uint8Array) => {
      if (createHash('sha256').update(body).digest('base64url') !== parts.body) throw invalid('The body is not the one that was signed');
      this.#remember(parts.nonce);
    };
    return { token, takeBody };
  }

  /** As request(), of the event socket: the same without the hash of a body. */
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
    } = forms[what].exec(signature)?.groups ?? this.#refuse(client, 'The signature is not of a form that this node knows');
    const decoded = (text: string) => Buffer.from(text, 'base64url');
    return { address: decoded(address).toString(), time, nonce, body, code: decoded(code) };
  }

  /** The code first: whoever has no token is told nothing else, and nothing of his is remembered. */
  #check(what: What, { address, time, nonce, code }: Parts, more: readonly string[], client: string): ApiToken {
    const text = [`mediarooms v1 ${what}`, address, time, nonce, ...more].join('\n');
    const token = this.#options.tokens.findBy(code, (key) => createHmac('sha256', key).update(text).digest());
    if (!token) this.#refuse(client, 'Invalid signature');
    if (address !== hostOf(this.#options.address())) throw invalid('This was signed for another node');
    const at = Number(time);
    if (Math.abs(at - this.#now()) > window)
      throw invalid(`The time of this signature is more than ${window / 1000} s from that of the node`);
    // What was sent before that is not known any more.
    if (at < this.#startedAt) throw invalid('This was signed before the node started');
    return token;
  }

  #remember(nonce: string): void {
    const now = this.#now();
    for (const [old, until] of this.#nonces) {
      if (until > now) break;
      this.#nonces.delete(old);
    }
    if (this.#nonces.has(nonce)) throw invalid('This was sent before');
    if (this.#nonces.size >= (this.#options.maxNonces ?? maxNonces))
      throw new ServiceError('too_many_requests', 'Too many signed calls within two minutes', { retryAfter: 1 });
    this.#nonces.set(nonce, now + remembered);
  }

  #refuse(client: string, sentence: string): never {
    throw this.#options.tokens.refusal(client, sentence);
  }
}

/** Of one that has the token, or repeats what such a one sent: no guess that counts. */
function invalid(sentence: string): ServiceError {
  return new ServiceError('invalid_token', sentence);
}

/** Whether something that stands where a token does is a signature. */
export function isSignature(text: string): boolean {
  return /^mediarooms-signature /i.test(text);
}

const start = '^mediarooms-signature +v1\\.(?<address>[\\w-]{1,400})\\.(?<time>\\d{13})\\.(?<nonce>[\\w-]{22})';
const forms = {
  request: new RegExp(`${start}\\.(?<body>[\\w-]{43})\\.(?<code>[\\w-]{43}) *$`, 'i'),
  socket: new RegExp(`${start}\\.(?<code>[\\w-]{43}) *$`, 'i'),
};

/** As URLs have it: IPv6 in its shortest form. */
function hostOf(address: string): string {
  return URL.parse(`http://${address}`)?.host ?? address;
}
