// Every way in which the server closes a websocket: code and reason, closed list (peer-protocol.md; RFC 6455, section 7.4).

/** Reasons are exactly three; every other closing has a code of ours and no reason. */
export const closeCodes = {
  peerRemoved: { code: 1000, reason: 'Peer removed' },
  roomStopped: { code: 1000, reason: 'Room stopped' },
  left: { code: 1000, reason: '' },
  internalError: { code: 1011, reason: 'Internal server error' },
  goingAway: { code: 1001, reason: '' },
  malformed: { code: 4400, reason: '' },
  unauthenticated: { code: 4401, reason: '' },
  authenticationTimeout: { code: 4408, reason: '' },
  takenOver: { code: 4409, reason: '' },
  tooLarge: { code: 4413, reason: '' },
  tooFast: { code: 4429, reason: '' },
} as const satisfies Record<string, { code: number; reason: string }>;
export type CloseName = keyof typeof closeCodes;
