// Access tokens as a backend signs them.
import { SignJWT } from 'jose';

export const accessKey = { id: 'backend', secret: 'a_secret_of_the_backend_of_the_tests' };
/** The setting SVC_ACCESS_KEYS with this key. */
export const accessKeysText = `${accessKey.id}=${accessKey.secret}`;

export type AccessTokenInit = {
  identity?: string;
  room?: string;
  /** Further grants in `video`, and further claims. */
  video?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  keyId?: string;
  key?: Parameters<SignJWT['sign']>[0];
  alg?: string;
  /** Seconds since 1970. */
  now?: number;
  /** Seconds. */
  ttl?: number;
};

/** A valid token that lasts for ten minutes, unless `init` changes it. */
export function signAccessToken(init: AccessTokenInit = {}): Promise<string> {
  const { identity = 'alice', room = 'room', video = {}, claims = {}, keyId = accessKey.id, alg = 'HS256', ttl = 600 } = init;
  const { key = new TextEncoder().encode(accessKey.secret), now = Math.floor(Date.now() / 1000) } = init;
  const payload = { iss: keyId, sub: identity, nbf: now, exp: now + ttl, video: { room, roomJoin: true, ...video }, ...claims };
  return new SignJWT(payload).setProtectedHeader({ alg, typ: 'JWT' }).sign(key);
}
