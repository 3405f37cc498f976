// Errors of the client, as classes.
import type { Closing } from './closing.ts';

/** The server rejected a request; `code` is from its error catalogue, for example `forbidden`, `track_not_found`. */
export class RequestError extends Error {
  override readonly name: string = 'RequestError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The session of a request was lost; the server may have processed the request. */
export class SessionLostError extends RequestError {
  override readonly name = 'SessionLostError';

  constructor() {
    super('session_lost', 'The connection was lost before the response arrived');
  }
}

/** The room is closed for this client; `closing` contains the reason. */
export class RoomClosedError extends Error {
  override readonly name = 'RoomClosedError';
  readonly closing: Closing;

  constructor(closing: Closing) {
    super(closing.message);
    this.closing = closing;
  }
}
