// Node tokens: signed headers for HTTP and websockets between nodes. A token names the requesting node and the client.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { deriveKey } from '../../rooms/tokens/signing-keys.ts';
import type { ClusterTransport, NodeName } from '../cluster-transport.ts';
import type { Dispatcher } from '../rpc/dispatcher.ts';

/** `client`: IP address of the client on whose behalf the node sends the request. */
export type NodeClaims = { node: NodeName; client: string };

/** Validity of a token in milliseconds, and maximum clock skew. */
const lifetime = 30_000;
const maxLength = 2_048;
const purpose = 'node';
const version = 'v1';
/** The default cookie is public, so it is no secret. */
const publicCookie = 'svc_cookie';

const claimsSchema = z.object({
  node: z.string().max(512),
  client: z.string().max(64),
  path: z.string().max(1_024),
  /** Nodes before 0.8 do not send it. */
  to: z.string().max(512).optional(),
  expiresAt: z.int(),
});
const keySchema = z.string().min(32).max(128);

export type NodeTokensOptions = {
  links: Pick<ClusterTransport, 'self' | 'cast'>;
  /** Without it no keys of other nodes are received. */
  dispatcher?: Pick<Dispatcher, 'receive'>;
  /** SVC_SECRET_KEY_BASE: the first secret signs, all verify. */
  secrets: readonly string[];
  /** Source of the keys if there is no secret. */
  cookie: string;
  now?: () => number;
};

/**
 * A token is valid at one node, for one path and 30 s. Keys are derived from SECRET_KEY_BASE, or from the cookie if there is none. If that
 * is the public default cookie, each node generates a random key and sends it to the connected nodes, so that only nodes of the cluster can
 * sign.
 */
export class NodeTokens {
  readonly #options: NodeTokensOptions;
  readonly #now: () => number;
  #keys: Uint8Array[] = [];
  /** Key that is sent to other nodes; undefined if they have the secret themselves. */
  #generatedKey: string | undefined;
  readonly #learned = new Map<NodeName, Uint8Array>();

  constructor(options: NodeTokensOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    if (options.secrets.length === 0 && options.cookie === publicCookie) this.#generatedKey = randomBytes(32).toString('base64url');
    this.replace(options.secrets);
    options.dispatcher?.receive('nodeKey', keySchema, (from, key) => this.#learned.set(from, deriveKey(key, purpose).secret));
  }

  /** Replaces the secrets. Without any secret the current keys stay. */
  replace(secrets: readonly string[]): void {
    if (secrets.length === 0 && this.#keys.length > 0) return;
    const sources = secrets.length > 0 ? secrets : [this.#generatedKey ?? this.#options.cookie];
    this.#keys = sources.map((secret) => deriveKey(secret, purpose).secret);
  }

  /**
   * Header value for one request to the node `to`. Without `to` it is valid at every node, like tokens of nodes before 0.8. `path`: as
   * requested, without the path of SVC_HOST.
   */
  sign({ client, path, to }: { client: string; path: string; to?: NodeName }): string {
    const [key] = this.#keys;
    if (!key) throw new Error('no signing key');
    const claims: z.input<typeof claimsSchema> = { node: this.#options.links.self, client, path, to, expiresAt: this.#now() + lifetime };
    const body = `${version}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
    return `${body}.${mac(key, body).toString('base64url')}`;
  }

  /** The requesting node and its client. Undefined unless a node of this cluster signed the token for this path and it has not expired. */
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
    // The receiver of a token cannot use it at a third node.
    if (to !== undefined && to !== this.#options.links.self) return undefined;
    const now = this.#now();
    // A clock that is ahead must not create tokens with a longer validity.
    if (expiresAt < now || expiresAt > now + 2 * lifetime) return undefined;
    return signer === undefined || signer === node ? { node, client } : undefined;
  }

  nodeUp(node: NodeName): void {
    if (this.#generatedKey !== undefined) this.#options.links.cast(node, 'nodeKey', this.#generatedKey);
  }

  nodeDown(node: NodeName): void {
    this.#learned.delete(node);
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
