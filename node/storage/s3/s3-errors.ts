// S3 errors: converts errors of S3 to messages without keys, and classifies whether a retry may succeed.
import { ForbiddenAddressError } from '../../common/guarded-agents.ts';

/** `refused`: a retry fails too unless the configuration changes. `missing`: the object does not exist. */
export type StorageErrorKind = 'refused' | 'missing' | 'failed';

export class StorageError extends Error {
  readonly fault: StorageErrorKind;

  constructor(fault: StorageErrorKind, message: string) {
    super(message);
    this.name = 'StorageError';
    this.fault = fault;
  }
}

type Raw = { name?: unknown; code?: unknown; syscall?: unknown; path?: unknown; $metadata?: { httpStatusCode?: unknown } };

/** The last one is the code of versitygw for an unknown access key, with 404. */
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
/** Temporary errors with a status below 500. */
const passing = new Set([408, 425, 429]);

/** Converts any error of an S3 request. Errors of the local disk are returned unchanged. */
export function storageError(error: unknown, bucket: string): unknown {
  if (error instanceof StorageError || isOwnDisk(error)) return error;
  if (error instanceof ForbiddenAddressError) return new StorageError('refused', error.message);
  const { name, code, $metadata } = (error ?? {}) as Raw;
  const status = typeof $metadata?.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined;
  const word = [name, code].find((each) => typeof each === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(each) && each !== 'Error') as
    | string
    | undefined;
  if (word === 'NoSuchBucket') return new StorageError('refused', `S3 has no bucket ${bucket}`);
  if (word !== undefined && badKeys.has(word)) return new StorageError('refused', `S3 rejected the access key (${word})`);
  if (word === 'NoSuchKey' || word === 'NotFound' || word === 'NoSuchUpload' || status === 404) {
    return new StorageError('missing', 'S3 has no such object');
  }
  if (word !== undefined && otherRegion.has(word)) return new StorageError('refused', `The bucket ${bucket} is in another region`);
  // The SDK reports this as a TimeoutError.
  if (isConnectionReset(error)) return new StorageError('failed', 'The connection to S3 was lost');
  if (word !== undefined && timeouts.has(word)) return new StorageError('failed', 'S3 did not respond in time');
  if (status === undefined) return new StorageError('failed', `S3 cannot be reached${word === undefined ? '' : ` (${word})`}`);
  const message = `S3 responded with ${status}${word === undefined ? '' : ` (${word})`}`;
  return new StorageError(status >= 300 && status < 500 && !passing.has(status) ? 'refused' : 'failed', message);
}

/** True if the connection closed before a response: the request may have been executed or not. */
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
