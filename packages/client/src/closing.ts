// Why it is over, and which endings are final: the server's close codes and refusals, as decisions.

export type ClosedReason =
  /** leave() was called. */
  | 'left'
  | 'peerRemoved'
  | 'roomStopped'
  /** The server failed and the peer with it. */
  | 'serverError'
  /** The same peer connected elsewhere. */
  | 'takenOver'
  /** The peer, or its room, does not exist (any more). */
  | 'notFound'
  /** The same peer is connected already, and `takeover` was not asked for. */
  | 'conflict'
  /** The token is bad or has expired. */
  | 'unauthorized'
  /** No server was reached in time. */
  | 'unreachable'
  /** This browser or program cannot do it. */
  | 'unsupported';

export type Closing = {
  reason: ClosedReason;
  /** Close code of the websocket where the server closed it, else null. */
  code: number | null;
  /** One sentence. */
  message: string;
  /** Whether joining again with the same token may work. */
  canRetry: boolean;
};

export type RejectedError = { code: string; message: string };

const retryable = new Set<ClosedReason>(['left', 'takenOver', 'conflict', 'unreachable']);

const messages: Record<ClosedReason, string> = {
  left: 'The room was left',
  peerRemoved: 'The peer was removed from the room',
  roomStopped: 'The room was stopped',
  serverError: 'The server had an internal error',
  takenOver: 'The same peer connected elsewhere',
  notFound: 'The room or the peer does not exist any more',
  conflict: 'The same peer is connected already',
  unauthorized: 'The token was not accepted',
  unreachable: 'The server could not be reached',
  unsupported: 'This environment does not support WebRTC',
};

const refusals: Record<string, ClosedReason> = {
  peer_not_found: 'notFound',
  room_not_found: 'notFound',
  room_ended: 'notFound',
  not_found: 'notFound',
  conflict: 'conflict',
  missing_token: 'unauthorized',
  invalid_token: 'unauthorized',
  forbidden: 'unauthorized',
  bad_request: 'unauthorized',
  invalid_field: 'unauthorized',
};

export function closing(reason: ClosedReason, code: number | null = null, message: string = messages[reason]): Closing {
  return { reason, code, message, canRetry: retryable.has(reason) };
}

/** The ending that a lost socket means; undefined where the session may be taken up again. */
export function closingForCode(code: number, reason: string): Closing | undefined {
  if (code === 1000 && reason === 'Peer removed') return closing('peerRemoved', code);
  if (code === 1000 && reason === 'Room stopped') return closing('roomStopped', code);
  if (code === 1000) return closing('left', code);
  if (code === 4401) return closing('unauthorized', code);
  if (code === 4409) return closing('takenOver', code);
  return undefined;
}

/** The ending that a refused authentication means; undefined where it may be accepted later. */
export function closingForError(rejectedError: RejectedError, serverFailed: boolean): Closing | undefined {
  const reason = refusals[rejectedError.code];
  if (!reason) return undefined;
  // The peer went because of the failure that closed the last socket.
  if (reason === 'notFound' && serverFailed) return closing('serverError', 1011);
  return closing(reason, 4401, rejectedError.message);
}

/** Whether a room that was lost may be made again: nobody ended it, it is only not there. */
export function isRecoverable(rejectedError: RejectedError): boolean {
  return rejectedError.code === 'room_not_found' || rejectedError.code === 'unavailable';
}

/** Whether a session can be taken up after this: what the server could not read would only be sent again. */
export function isResumable(code: number): boolean {
  return code !== 4400 && code !== 4413;
}
