// KubeError: every failure of a request to the API server, and its classification.

/** Reasons of the client itself, with status 0. */
type ClientErrorReason =
  /** No connection, or it broke before the response was complete. */
  | 'Unreachable'
  /** The request timed out. */
  | 'Timeout'
  /** A watch was idle for too long. */
  | 'Stalled'
  /** A write was requested after leadership was lost. */
  | 'NotLeader'
  /** The credentials could not be loaded. */
  | 'NoCredentials'
  /** Too many requests are queued. */
  | 'Overloaded'
  /** The response is not valid for the API, or too long. */
  | 'BadAnswer';

/** A failed request. The message is from the API server; it never contains a token or content of a Secret. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** HTTP status, or 0 without a response. */
  readonly status: number;
  /** `reason` of the returned Status ('NotFound', 'Conflict', 'AlreadyExists', 'Forbidden'...), or one of the client. */
  readonly reason: ClientErrorReason | (string & {});
  /** Retry-After of the API server in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(options: { status: number; reason: string; message: string; retryAfterMs?: number | undefined; cause?: unknown }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** An error of the client itself. */
export function clientError(reason: ClientErrorReason, message: string, cause?: unknown): KubeError {
  return new KubeError({ status: 0, reason, message, cause });
}

/** Like a conflict from the API server: the key is reconciled again. */
export function conflict(message: string): KubeError {
  return new KubeError({ status: 409, reason: 'Conflict', message });
}

/** Whether the object was changed concurrently: read it again and decide again. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === 'Conflict';
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** Whether the object does not exist, as opposed to an unsupported kind. */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && error.reason === 'NotFound';
}

/** Whether the account lacks permission. Excludes a starting API server whose admission is not ready. */
export function isForbidden(error: unknown): boolean {
  return error instanceof KubeError && error.status === 403 && !isNotReady(error);
}

/** Admission of a starting API server (`WaitForReady` in k8s.io/apiserver/pkg/admission): 403 without a permission problem. */
function isNotReady({ status, message }: KubeError): boolean {
  return status === 403 && message.endsWith('not yet ready to handle request');
}

/** Whether the API server is unreachable, starting or stopping. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof KubeError && (error.reason === 'Unreachable' || error.status === 503);
}

/** Whether the API server did not process the request, so that the result is unknown. */
export function isUnavailable(error: unknown): boolean {
  if (isUnreachable(error)) return true;
  return error instanceof KubeError && (error.reason === 'Timeout' || error.status === 429 || error.status >= 500 || isNotReady(error));
}

/** Failures before anything was sent: a retry cannot repeat an effect. */
const beforeSending = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  // The certificates were replaced between choosing and using the connection.
  'UND_ERR_CLOSED',
];

export function wasNeverSent(error: unknown): boolean {
  return error instanceof KubeError && beforeSending.includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}
