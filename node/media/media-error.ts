// Turns what mediasoup throws into what callers may read.
import { errors } from 'mediasoup';
import { ServiceError } from '../common/errors.ts';
import { invalidParameter } from './parameters.ts';

export function mediaClosedError(): ServiceError {
  return new ServiceError('unavailable', 'The media of this room has ended');
}

/** Ids may come from clients, so they are cut. */
export function trackNotFoundError(trackId: string): ServiceError {
  return new ServiceError('track_not_found', `Track ${trackId.slice(0, 128)} does not exist`);
}

/** What a call to a worker makes with what comes after its deadline. */
export function closeAfterTimeout(late: { close(): void }): void {
  late.close();
}

/** An error of a call whose parameters came from a client: `what` was refused, unless the worker is gone or hangs. */
export function toClientError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof errors.WorkerClosedError) return mediaClosedError();
  return invalidParameter(`${what} refused: ${reason(error)}`, error);
}

/** An error of a call that only fails when what it is about has ended meanwhile. */
export function toWorkerError(error: unknown, ended: () => ServiceError): ServiceError {
  if (error instanceof ServiceError) return error;
  return error instanceof errors.WorkerClosedError ? mediaClosedError() : new ServiceError(ended().code, ended().message, { cause: error });
}

/** Whether what a call was about is gone: the worker closes what depends on a track before its word of that arrives here. */
export function isClosedError(error: unknown, about: { readonly closed: boolean }): boolean {
  return about.closed || error instanceof errors.NotFoundError;
}

/** mediasoup's own words without the name of its method; bounded, since they may quote what the client sent. */
function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : 'unknown';
  return text.replace(/\s*\[method:[^\]]*\]/g, '').slice(0, 200);
}
