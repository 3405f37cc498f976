// Closing reasons: maps close codes and rejections of the server to reasons, and decides which are final.
import {
  internalErrorCode,
  leftCode,
  malformedCode,
  peerDeniedCode,
  peerRemovedCode,
  peerRemovedReason,
  roomStoppedCode,
  roomStoppedReason,
  takenOverCode,
  tooLargeCode,
  unauthenticatedCode,
} from './generated/close-codes.ts';

export type ClosedReason =
  /** leave() was called. */
  | 'left'
  | 'peerRemoved'
  /** The peer waited, and was not admitted. */
  | 'denied'
  | 'roomStopped'
  /** The server failed, and the session of the peer with it. */
  | 'serverError'
  /** The same peer connected elsewhere. */
  | 'takenOver'
  /** The peer or its room does not exist (any more). */
  | 'notFound'
  /** The same peer is already connected, and `takeover` was not set. */
  | 'conflict'
  /** The token is invalid or expired. */
  | 'unauthorized'
  /** No server was reached in time. */
  | 'unreachable'
  /** This browser or program does not support it. */
  | 'unsupported';

export type Closing = {
  reason: ClosedReason;
  /** Close code of the WebSocket if the server closed it, else null. */
  code: number | null;
  /** Message for people, one sentence. */
  message: string;
  /** True if joining again with the same token may succeed. */
  canRetry: boolean;
};

export type RejectedError = { code: string; message: string };

const retryable = new Set<ClosedReason>(['left', 'takenOver', 'conflict', 'unreachable']);

const messages: Record<ClosedReason, string> = {
  left: 'The room was left',
  peerRemoved: 'The peer was removed from the room',
  denied: 'The peer was not admitted to the room',
  roomStopped: 'The room was stopped',
  serverError: 'The server had an internal error',
  takenOver: 'The same peer connected elsewhere',
  notFound: 'The room or the peer does not exist any more',
  conflict: 'The same peer is already connected',
  unauthorized: 'The token was rejected',
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

/** The closing for a close code; undefined if the session may be resumed. */
export function closingForCode(code: number, reason: string): Closing | undefined {
  if (code === peerRemovedCode && reason === peerRemovedReason) return closing('peerRemoved', code);
  if (code === peerDeniedCode) return closing('denied', code);
  if (code === roomStoppedCode && reason === roomStoppedReason) return closing('roomStopped', code);
  if (code === leftCode) return closing('left', code);
  if (code === unauthenticatedCode) return closing('unauthorized', code);
  if (code === takenOverCode) return closing('takenOver', code);
  return undefined;
}

/** The closing for a rejected authentication; undefined if it may be accepted later. */
export function closingForError(rejectedError: RejectedError, serverFailed: boolean): Closing | undefined {
  const reason = refusals[rejectedError.code];
  if (!reason) return undefined;
  // The failure that closed the last socket also removed the peer.
  if (reason === 'notFound' && serverFailed) return closing('serverError', internalErrorCode);
  return closing(reason, unauthenticatedCode, rejectedError.message);
}

/** True if a lost room may be recreated: it was not deleted, but is not available now. */
export function isRecoverable(rejectedError: RejectedError): boolean {
  return rejectedError.code === 'room_not_found' || rejectedError.code === 'unavailable';
}

/** True if the session can be resumed after this code: a frame that the server could not read would be sent again. */
export function isResumable(code: number): boolean {
  return code !== malformedCode && code !== tooLargeCode;
}
