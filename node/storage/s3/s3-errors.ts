// What S3 says when it fails, as one sentence without keys, and whether the same call may succeed later.
import { ForbiddenAddressError } from '../../common/guarded-agents.ts';

/** `refused`: the same again would be refused again, unless somebody changes something there. `missing`: there is no such object. */
export type StorageErrorKind = 'refused' | 'missing' | 'failed';

export class StorageError extends Error {
  readonly fault: StorageErrorKind;

  constructor(fault: StorageErrorKind, sentence: string) {
    super(sentence);
    this.name = 'StorageError';
    this.fault = fault;
  }
}

type Raw = { name?: unknown; code?: unknown; syscall?: unknown; path?: unknown; $metadata?: { httpStatusCode?: unknown } };

/** The last one is how versitygw says that nobody has this access key, with 404. */
const badKeys = new Set([
  'AccessDenied',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'ExpiredToken',
  'InvalidToken',
  'Forbidden',
  'XAdminUserNotFound',
]);
const otherRegion = new Set(['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException']);
const timeouts = new Set(['TimeoutError', 'AbortError', 'RequestTimeout', 'ETIMEDOUT', 'ESOCKETTIMEDOUT']);
/** Statuses below 500 that pass. */
const passing = new Set([408, 425, 429]);

/** Anything that a call to S3 threw. What comes from the own disk stays as it is. */
export function storageError(error: unknown, bucket: string): unknown {
  if (error instanceof StorageError || isOwnDisk(error)) return error;
  if (error instanceof ForbiddenAddressError) return new StorageError('refused', error.message);
  const { name, code, $metadata } = (error ?? {}) as Raw;
  const status = typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined;
  const word = [name, code].find((each) => typeof each === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(each) && each !== 'Error') as
    | string
    | undefined;
  if (word === 'NoSuchBucket') return new StorageError('refused', `S3 has no bucket ${bucket}`);
  if (word !== undefined && badKeys.has(word)) return new StorageError('refused', `S3 refuses the keys (${word})`);
  if (word === 'NoSuchKey' || word === 'NotFound' || word === 'NoSuchUpload' || status === 404) {
    return new StorageError('missing', 'S3 has no such object');
  }
  if (word !== undefined && otherRegion.has(word)) return new StorageError('refused', `The bucket ${bucket} is in another region`);
  // The SDK calls this a TimeoutError, which it is not.
  if (isConnectionReset(error)) return new StorageError('failed', 'The connection to S3 was cut');
  if (word !== undefined && timeouts.has(word)) return new StorageError('failed', 'S3 did not answer in time');
  if (status === undefined) return new StorageError('failed', `S3 cannot be reached${word === undefined ? '' : ` (${word})`}`);
  const sentence = `S3 answered ${status}${word === undefined ? '' : ` (${word})`}`;
  return new StorageError(status >= 300 && status < 500 && !passing.has(status) ? 'refused' : 'failed', sentence);
}

/** Whether the connection ended before an answer had begun: what was asked may have been done or not. */
export function isConnectionReset(error: unknown): boolean {
  const { code, $metadata } = (error ?? {}) as Raw;
  return (code === 'ECONNRESET' || code === 'EPIPE') && $metadata?.httpStatusCode === undefined;
}

/** An error of the file system, not of a socket. */
function isOwnDisk(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as Raw;
  return (
    typeof code === 'string' &&
    typeof syscall === 'string' &&
    /^(open|read|stat|fstat|lstat|scandir|close)$/.test(syscall) &&
    code !== 'ECONNRESET'
  );
}
