// Media errors: converts errors of mediasoup to ServiceErrors for clients.
import { errors } from 'mediasoup';
import { ServiceError } from '../../api/errors.ts';
import { invalidParameter } from './parameters.ts';

export function mediaClosedError(): ServiceError {
  return new ServiceError('unavailable', 'The media of this room has ended');
}

/** Ids may come from clients, so they are truncated. */
export function trackNotFoundError(trackId: string): ServiceError {
  return new ServiceError('track_not_found', `Track ${trackId.slice(0, 128)} does not exist`);
}

/** Closes an object that a worker created after the request timed out. */
export function closeAfterTimeout(late: { close(): void }): void {
  late.close();
}

/** Error of a request with client parameters: `what` was rejected, unless the worker died or does not respond. */
export function toClientError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof errors.WorkerClosedError) return mediaClosedError();
  return invalidParameter(`${what} rejected: ${reason(error)}`, error);
}

/** Error of a request that fails only if its subject has ended meanwhile. */
export function toWorkerError(error: unknown, ended: () => ServiceError): ServiceError {
  if (error instanceof ServiceError) return error;
  return error instanceof errors.WorkerClosedError ? mediaClosedError() : new ServiceError(ended().code, ended().message, { cause: error });
}

/** True if the subject of a request has ended: the worker closes dependents of a track before its notification arrives here. */
export function isClosedError(error: unknown, about: { readonly closed: boolean }): boolean {
  return about.closed || error instanceof errors.NotFoundError;
}

/** mediasoup's message without its method name; truncated because it may contain client input. */
function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : 'unknown';
  return text.replace(/\s*\[method:[^\]]*\]/g, '').slice(0, 200);
}
