// Close codes: every code and reason with which the server closes a websocket (RFC 6455, section 7.4).

/** Sessions that the server ends permanently have one of three reasons: `Peer removed`, `Room stopped`, `Internal server error`. */
export const closeCodes = {
  peerRemoved: { code: 1000, reason: 'Peer removed', description: 'The peer was removed; the session has ended.' },
  peerDenied: { code: 4403, reason: 'Peer removed', description: 'The peer was not admitted to the room and was removed.' },
  roomStopped: { code: 1000, reason: 'Room stopped', description: 'The room ended; the session has ended.' },
  left: { code: 1000, reason: 'Peer left', description: 'The response to leave; the session has ended.' },
  internalError: { code: 1011, reason: 'Internal server error', description: 'The peer crashed; the session has ended.' },
  goingAway: {
    code: 1001,
    reason: 'Node going away: resume at another node',
    description: 'The node of the socket is shutting down, or the owning node was lost.',
  },
  roomMoved: {
    code: 1001,
    reason: 'Node going away: join again at another node',
    description: 'The room ended because its node is shutting down or draining. It may be recreated on another node.',
  },
  mediaLost: {
    code: 1001,
    reason: 'Media lost: join again',
    description: 'The media worker of the peer died, its room continues, and its client did not request the feature `migrate`.',
  },
  malformed: { code: 4400, reason: 'Malformed message', description: 'A frame that is binary, no JSON, or no request with id and method.' },
  unauthenticated: { code: 4401, reason: 'Not authenticated', description: 'Authentication failed; the preceding response has the error.' },
  authenticationTimeout: {
    code: 4408,
    reason: 'Authentication timeout',
    description: 'No authentication in time, or too many newer sockets before it.',
  },
  takenOver: { code: 4409, reason: 'Taken over by a newer socket', description: 'A newer socket replaced this one.' },
  tooSlow: { code: 4410, reason: 'Events not read in time', description: 'Server socket: events were not read fast enough.' },
  tooLarge: { code: 4413, reason: 'Message too large', description: 'A message exceeded the size limit.' },
  tooFast: { code: 4429, reason: 'Too many messages', description: 'Messages exceeded the rate limit.' },
} as const satisfies Record<string, { code: number; reason: string; description: string }>;
export type CloseCodeName = keyof typeof closeCodes;
