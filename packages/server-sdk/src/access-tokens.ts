// Access tokens: signed here, without a request, with a key of SVC_ACCESS_KEYS.
import type { Json } from './generated/schemas.ts';

/** An access key: its secret, or the private key (PKCS #8 as PEM, P-256 or Ed25519) of its public key. */
export type AccessKey = { id: string } & ({ secret: string } | { privateKey: string });

export type AccessTokenOptions = {
  room: string;
  /** Id of the peer; other texts than ids become its `externalId`. */
  identity: string;
  /** Validity in milliseconds; default ten minutes. It must cover the join and reconnects: the server renews tokens of connected peers. */
  ttl?: number;
  name?: string;
  metadata?: Json;
  attributes?: Readonly<Record<string, string>>;
  /** Creates the room if it does not exist, with these options as far as the key allows them. `peerlessPurgeTimeout` in seconds. */
  createRoom?: boolean | { maxPeers?: number; peerlessPurgeTimeout?: number; metadata?: Json };
  canPublish?: boolean;
  canPublishSources?: readonly ('camera' | 'microphone' | 'screen_share' | 'screen_share_audio')[];
  canSubscribe?: boolean;
  canPublishData?: boolean;
  /** May set the metadata of the room. */
  roomAdmin?: boolean;
  hidden?: boolean;
};

type Signer = { alg: 'HS256' | 'ES256' | 'EdDSA'; sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<ArrayBuffer> };

const defaultTtl = 10 * 60_000;

export class AccessTokens {
  readonly #key: AccessKey | undefined;
  #signer: Promise<Signer> | undefined;

  /** `key`: the option `accessKey` of the client. */
  constructor(key: AccessKey | undefined) {
    this.#key = key;
  }

  /** A token with which a client joins a room. @throws TypeError without a valid option `accessKey` */
  async sign({ ttl = defaultTtl, ...options }: AccessTokenOptions): Promise<string> {
    const key = this.#key;
    if (!key) throw new TypeError('Expected the option accessKey to be set');
    this.#signer ??= signerOf(key);
    const { alg, sign } = await this.#signer;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: key.id, iat: now, nbf: now, exp: now + Math.ceil(ttl / 1000), ...claimsOf(options) };
    const signed = `${base64Url(text({ alg, typ: 'JWT' }))}.${base64Url(text(claims))}`;
    return `${signed}.${base64Url(new Uint8Array(await sign(new TextEncoder().encode(signed))))}`;
  }
}

/** JSON omits what is undefined. */
function claimsOf({ room, identity, name, metadata, attributes, createRoom, ...grants }: Omit<AccessTokenOptions, 'ttl'>): object {
  return {
    sub: identity,
    name,
    metadata: textOf(metadata),
    attributes,
    video: { room, roomJoin: true, roomCreate: createRoom ? true : undefined, ...grants },
    roomConfig: typeof createRoom === 'object' ? roomConfigOf(createRoom) : undefined,
  };
}

function roomConfigOf({
  maxPeers,
  peerlessPurgeTimeout,
  metadata,
}: Exclude<AccessTokenOptions['createRoom'], boolean | undefined>): object {
  return { maxParticipants: maxPeers, departureTimeout: peerlessPurgeTimeout, metadata: textOf(metadata) };
}

/** In these tokens metadata is text. */
function textOf(metadata: Json | undefined): string | undefined {
  return metadata === undefined ? undefined : JSON.stringify(metadata);
}

async function signerOf(key: AccessKey): Promise<Signer> {
  if ('secret' in key) {
    const hmac = { name: 'HMAC', hash: 'SHA-256' };
    const secret = await crypto.subtle.importKey('raw', new TextEncoder().encode(key.secret), hmac, false, ['sign']);
    return { alg: 'HS256', sign: (bytes) => crypto.subtle.sign('HMAC', secret, bytes) };
  }
  const der = derOf(key.privateKey);
  const imported = (algorithm: { name: string; namedCurve?: string }) =>
    crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']).catch(() => undefined);
  const nist = await imported({ name: 'ECDSA', namedCurve: 'P-256' });
  if (nist) return { alg: 'ES256', sign: (bytes) => crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, nist, bytes) };
  const edwards = await imported({ name: 'Ed25519' });
  if (edwards) return { alg: 'EdDSA', sign: (bytes) => crypto.subtle.sign('Ed25519', edwards, bytes) };
  throw new TypeError('Expected privateKey to be a key of P-256 or Ed25519');
}

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  const base64 = /^\s*-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/.exec(pem)?.[1];
  if (base64 === undefined) throw new TypeError('Expected privateKey to be PKCS #8 as PEM (BEGIN PRIVATE KEY)');
  return Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (character) => character.charCodeAt(0));
}

function text(value: object): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

function base64Url(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
