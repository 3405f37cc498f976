// Access keys: the schema of keys with which backends sign access tokens.
import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { idPattern } from '../core/id-pattern.ts';
import { maxTimeout } from '../room.ts';
import { boolean, integer, listOf, maxTokens, stringMatching } from './values.ts';

export const maxAccessKeyId = 64;
/** The claim `iss` of the tokens of a key. */
const accessKeyId = stringMatching(
  `to be an id of 1 to ${maxAccessKeyId} letters, digits and ._-`,
  (text) => text.length <= maxAccessKeyId && /^[\w.-]+$/.test(text),
);
/** Every participant can guess a short secret offline, because it has a token. */
export const accessSecret = stringMatching('to be a secret of 32 to 4096 characters without spaces', (text) =>
  /^[^\s\p{Cc}]{32,}$/u.test(text),
);
export const accessPublicKey = stringMatching(
  'to be the PEM of a public key of Ed25519 or P-256',
  (text) => publicKeyAlgorithm(text) !== undefined,
);

/** The signature algorithm of a public key (PEM); undefined for any other text, also for a private key. */
export function publicKeyAlgorithm(pem: string): 'ES256' | 'EdDSA' | undefined {
  if (!isPublicKey(pem)) return undefined;
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey(pem);
    if (asymmetricKeyType === 'ed25519') return 'EdDSA';
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1' ? 'ES256' : undefined;
  } catch {
    return undefined;
  }
}

/** True if the text of a key is a public key, not a secret. */
export function isPublicKey(text: string): boolean {
  return /^\s*-----BEGIN PUBLIC KEY-----\s/.test(text);
}

const accessKey = z
  .strictObject({
    id: accessKeyId,
    secret: accessSecret.optional(),
    publicKey: accessPublicKey.optional(),
    /** False: its tokens create no rooms. */
    roomCreate: boolean.optional(),
    /** Its tokens are valid for rooms with this prefix only. */
    roomPrefix: stringMatching('to be a prefix of room ids', (text) => idPattern.test(text)).optional(),
    /** Maximum values of rooms that its tokens create. */
    maxPeers: integer(1, 1_000_000).optional(),
    peerlessPurgeTimeout: integer(1, maxTimeout, 'a number of seconds').optional(),
  })
  .refine(({ secret, publicKey }) => (secret === undefined) !== (publicKey === undefined), {
    error: 'to have either a secret or a public key',
  });
export type AccessKey = z.infer<typeof accessKey>;

export const accessKeys = listOf(accessKey, maxTokens, 'to be a list of access keys').refine(
  (keys) => new Set(keys.map(({ id }) => id)).size === keys.length,
  { error: 'to have each id once' },
);

/** The text of the variable: `id=secret`, separated by spaces. */
export function accessKeysOf(text: string): { id: string; secret: string }[] {
  return text.split(/\s+/).map((word) => {
    const at = word.indexOf('=');
    return { id: word.slice(0, Math.max(0, at)), secret: word.slice(at + 1) };
  });
}
