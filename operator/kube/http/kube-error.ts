// What goes wrong with a call to the API server, as one kind of error.

/** Reasons that the API server did not say itself: its status is 0. */
export type ClientErrorReason =
  /** No connection, or it broke before the answer was whole. */
  | 'Unreachable'
  /** The call's deadline passed. */
  | 'Timeout'
  /** A watch that said nothing for too long. */
  | 'Stalled'
  /** A write was asked for by one that does not lead any more. */
  | 'NotLeader'
  /** The credentials could not be had. */
  | 'NoCredentials'
  /** Too many calls wait already. */
  | 'Overloaded'
  /** What was answered is not what the API promises, or too long. */
  | 'BadAnswer';

/** A call that failed. The message is the API server's own sentence; it never has a token or content of a Secret. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** The HTTP status, or 0 where the API server gave none. */
  readonly status: number;
  /** `reason` of the Status that was answered ('NotFound', 'Conflict', 'AlreadyExists', 'Forbidden'...), or one of ours. */
  readonly reason: ClientErrorReason | (string & {});
  /** How long the API server asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(options: { status: number; reason: string; message: string; retryAfterMs?: number | undefined; cause?: unknown }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** As the API server says that somebody else was faster: the key is looked at again. */
export function conflict(message: string): KubeError {
  return new KubeError({ status: 409, reason: 'Conflict', message });
}

/** Whether somebody else changed the object first: read it again and decide again. */
export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === 'Conflict';
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** Whether the API server says that the object is not there; not that it does not know the kind. */
export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404 && error.reason === 'NotFound';
}

/** Whether it was refused for who asks. Not: by an API server that starts, whose admission has not read yet what it judges by. */
export function isForbidden(error: unknown): boolean {
  return error instanceof KubeError && error.status === 403 && !isNotReady(error);
}

/** What the admission of an API server says that starts (`WaitForReady` in k8s.io/apiserver/pkg/admission): 403, though nothing is forbidden. */
function isNotReady({ status, message }: KubeError): boolean {
  return status === 403 && message.endsWith('not yet ready to handle request');
}

/** Whether there was no API server to ask: none answers, or it says that it starts or stops. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof KubeError && (error.reason === 'Unreachable' || error.status === 503);
}

/** Whether the API server could not be asked, or not now: nothing is known of what the call was about. */
export function isUnavailable(error: unknown): boolean {
  if (isUnreachable(error)) return true;
  return error instanceof KubeError && (error.reason === 'Timeout' || error.status === 429 || error.status >= 500 || isNotReady(error));
}

/** Failures before anything was sent: repeating what failed so can never do a thing twice. */
const beforeSending = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  // Its certificates were replaced between asking for the connections and using them.
  'UND_ERR_CLOSED',
];

export function wasNeverSent(error: unknown): boolean {
  return error instanceof KubeError && beforeSending.includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}
