// Digest authentication: selects the first supported challenge (RFC 8760, section 2.4), because SIP.js only sees the last one.
import { createHash, randomBytes } from 'node:crypto';
import { Core } from 'sip.js';
import type { Header } from './message.ts';

const hashes = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' } as const;
type Algorithm = keyof typeof hashes;

function isKnown(algorithm: string): algorithm is Algorithm {
  return Object.hasOwn(hashes, algorithm);
}

const names = ['www-authenticate', 'proxy-authenticate'];

/** Keeps one supported challenge of each header, if any. */
export function chooseChallenge(headers: readonly Header[]): Header[] {
  const chosen = new Set<string>();
  return headers.filter(({ name, value }) => {
    if (!names.includes(name)) return true;
    const algorithm = /[\s,]algorithm\s*=\s*"?([A-Za-z0-9-]+)"?/i.exec(value)?.[1]?.toUpperCase() ?? 'MD5';
    if (!/^Digest\s/i.test(value) || !isKnown(algorithm) || chosen.has(name)) return false;
    chosen.add(name);
    return true;
  });
}

export type Challenge = {
  realm?: string | undefined;
  nonce?: string | undefined;
  opaque?: string | undefined;
  algorithm?: string | undefined;
  qop?: readonly string[] | undefined;
};

export type DigestRequest = { method: string; uri: string; username: string; password: string };

/** Credentials for a challenge (RFC 7616, section 3.4), with qop auth if offered. @returns undefined for an unsupported challenge */
export function digestCredentials(
  challenge: Challenge,
  request: DigestRequest,
  cnonce = randomBytes(12).toString('hex'),
): string | undefined {
  const { realm, nonce, opaque, qop } = challenge;
  const algorithm = (challenge.algorithm ?? 'MD5').toUpperCase();
  if (!realm || !nonce || !isKnown(algorithm) || /["\r\n]/.test(`${realm}${nonce}${opaque ?? ''}`)) return undefined;
  const { method, uri, username, password } = request;
  const hash = (text: string) => createHash(hashes[algorithm]).update(text).digest('hex');
  const secret = hash(`${username}:${realm}:${password}`);
  const what = hash(`${method}:${uri}`);
  const params = [
    `username="${username.replaceAll(/["\\]/g, '\\$&')}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${uri}"`,
    `algorithm=${algorithm}`,
  ];
  if (opaque !== undefined) params.push(`opaque="${opaque}"`);
  if (!qop || qop.length === 0) return `Digest ${[...params, `response="${hash(`${secret}:${nonce}:${what}`)}"`].join(', ')}`;
  if (!qop.includes('auth')) return undefined;
  // A nonce is used once, so the count is always 1.
  const response = hash(`${secret}:${nonce}:00000001:${cnonce}:auth:${what}`);
  return `Digest ${[...params, 'qop=auth', 'nc=00000001', `cnonce="${cnonce}"`, `response="${response}"`].join(', ')}`;
}

/** Replaces the credentials of SIP.js, which only support MD5. */
export class Credentials extends Core.DigestAuthentication {
  readonly #of: { username: string; password: string };
  #header: string | undefined;

  constructor(loggerFactory: Core.LoggerFactory, of: { username: string; password: string }) {
    super(loggerFactory, undefined, of.username, undefined);
    this.#of = of;
  }

  override authenticate(request: Core.OutgoingRequestMessage, challenge: Challenge): boolean {
    this.#header = digestCredentials(challenge, { method: request.method, uri: request.ruri.toRaw(), ...this.#of });
    return this.#header !== undefined;
  }

  override toString(): string {
    return this.#header ?? '';
  }
}
