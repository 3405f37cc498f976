// What nodes show each other over HTTP and websockets: a signed header with the asking node and the client it asks for.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { deriveKey } from '../../rooms/tokens/signing-keys.ts';
import type { ClusterTransport, NodeName } from '../cluster-transport.ts';

/** `client`: IP address of the client that the node asks for. */
export type NodeClaims = { node: NodeName; client: string };

/** The request header that carries a token. */
export const proxiedHeader = 'x-mediarooms-forwarded';

/** How long a token is good, in milliseconds, and by how much clocks may differ. */
const lifetime = 30_000;
const maxLength = 2_048;
const purpose = 'node';
const version = 'v1';
/** The cookie that everybody knows: no secret. */
const publicCookie = 'svc_cookie';

const claimsSchema = z.object({
  node: z.string().max(512),
  client: z.string().max(64),
  path: z.string().max(1_024),
  /** Nodes before 0.8 do not say it. */
  to: z.string().max(512).optional(),
  expiresAt: z.int(),
});
const keySchema = z.string().min(32).max(128);

export type NodeTokensOptions = {
  links: Pick<ClusterTransport, 'self' | 'cast'>;
  /** SVC_SECRET_KEY_BASE: the first signs, all verify. */
  secrets: readonly string[];
  /** What keys are made of where there is no secret. */
  cookie: string;
  now?: () => number;
};

/**
 * Tokens are good at one node, for one path and 30 s. Keys are derived from SECRET_KEY_BASE, without one from the cookie. Where that is the one that
 * everybody knows, each node makes a random key and tells it to those that it is connected to, so that nobody else can sign.
 */
export class NodeTokens {
  readonly #options: NodeTokensOptions;
  readonly #now: () => number;
  #keys: Uint8Array[] = [];
  /** What other nodes are told; undefined where they know the secret themselves. */
  #told: string | undefined;
  readonly #learned = new Map<NodeName, Uint8Array>();

  constructor(options: NodeTokensOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    if (options.secrets.length === 0 && options.cookie === publicCookie) this.#told = randomBytes(32).toString('base64url');
    this.replace(options.secrets);
  }

  /** Takes other secrets from now on; without any the keys stay. */
  replace(secrets: readonly string[]): void {
    if (secrets.length === 0 && this.#keys.length > 0) return;
    const sources = secrets.length > 0 ? secrets : [this.#told ?? this.#options.cookie];
    this.#keys = sources.map((secret) => deriveKey(secret, purpose).secret);
  }

  /** A header's value for one request to the node `to`; without that it is good at any, as those of nodes before 0.8. `path`: as it is asked for, without the path of SVC_HOST. */
  sign({ client, path, to }: { client: string; path: string; to?: NodeName }): string {
    const [key] = this.#keys;
    if (!key) throw new Error('no signing key');
    const claims: z.input<typeof claimsSchema> = { node: this.#options.links.self, client, path, to, expiresAt: this.#now() + lifetime };
    const body = `${version}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
    return `${body}.${mac(key, body).toString('base64url')}`;
  }

  /** Who asks and for whom; undefined for everything that no node of this cluster signed for this path within its lifetime. */
  verify(header: string | string[] | undefined, path: string): NodeClaims | undefined {
    if (typeof header !== 'string' || header.length > maxLength) return undefined;
    const end = header.lastIndexOf('.');
    const body = header.slice(0, end);
    const given = Buffer.from(header.slice(end + 1), 'base64url');
    if (end < 0 || !body.startsWith(`${version}.`)) return undefined;
    let signer: NodeName | undefined;
    let signed = false;
    for (const key of this.#keys) signed = equal(mac(key, body), given) || signed;
    for (const [node, key] of this.#learned) if (equal(mac(key, body), given)) signer = node;
    if (!signed && signer === undefined) return undefined;
    const claims = claimsSchema.safeParse(parseJson(Buffer.from(body.slice(version.length + 1), 'base64url').toString()));
    if (!claims.success || claims.data.path !== path) return undefined;
    const { node, client, to, expiresAt } = claims.data;
    // Whoever was asked cannot ask another node with it.
    if (to !== undefined && to !== this.#options.links.self) return undefined;
    const now = this.#now();
    // A clock that is ahead must not make tokens that live longer.
    if (expiresAt < now || expiresAt > now + 2 * lifetime) return undefined;
    return signer === undefined || signer === node ? { node, client } : undefined;
  }

  nodeUp(node: NodeName): void {
    if (this.#told !== undefined) this.#options.links.cast(node, 'nodeKey', this.#told);
  }

  nodeDown(node: NodeName): void {
    this.#learned.delete(node);
  }

  /** @returns whether the message was one of ours. */
  receive(from: NodeName, method: string, data: unknown): boolean {
    if (method !== 'nodeKey') return false;
    this.#learned.set(from, deriveKey(keySchema.parse(data), purpose).secret);
    return true;
  }
}

function mac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function equal(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
