// What can go wrong, as classes that a caller can tell apart.
import type { Closing } from './closing.ts';

/** The server refused a request; `code` is from its catalogue of errors, e.g. `forbidden`, `track_not_found`. */
export class RequestError extends Error {
  override readonly name: string = 'RequestError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The session that a request belonged to is gone for good; whether the request was handled is not known. */
export class SessionLostError extends RequestError {
  override readonly name = 'SessionLostError';

  constructor() {
    super('session_lost', 'The connection was lost before the answer came');
  }
}

/** The room is closed for this client; `closing` says why. */
export class RoomClosedError extends Error {
  override readonly name = 'RoomClosedError';
  readonly closing: Closing;

  constructor(closing: Closing) {
    super(closing.message);
    this.closing = closing;
  }
}
