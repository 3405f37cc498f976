// Every way in which the server closes a websocket: code and reason, closed list (peer-protocol.md; RFC 6455, section 7.4).

/** Reasons are exactly three; every other closing has a code of ours and no reason. */
export const closeCodes = {
  peerRemoved: { code: 1000, reason: 'Peer removed', description: 'The peer was removed: the session is over.' },
  roomStopped: { code: 1000, reason: 'Room stopped', description: 'The room ended: the session is over.' },
  left: { code: 1000, reason: '', description: 'The answer to leave: the session is over.' },
  internalError: { code: 1011, reason: 'Internal server error', description: 'The peer crashed: the session is over.' },
  goingAway: {
    code: 1001,
    reason: '',
    description: 'The node that holds the socket, or the room, ends or is drained: the room may be made again at another one.',
  },
  malformed: { code: 4400, reason: '', description: 'A frame that is binary, no JSON, or no request with id and method.' },
  unauthenticated: { code: 4401, reason: '', description: 'Authentication failed; the answer before it says why.' },
  authenticationTimeout: { code: 4408, reason: '', description: 'No authentication in time, or before too many newer sockets.' },
  takenOver: { code: 4409, reason: '', description: 'A newer socket took this one’s place.' },
  tooSlow: { code: 4410, reason: '', description: 'Server socket: events were not read as fast as they came.' },
  tooLarge: { code: 4413, reason: '', description: 'A message was larger than allowed.' },
  tooFast: { code: 4429, reason: '', description: 'Messages came faster than allowed.' },
} as const satisfies Record<string, { code: number; reason: string; description: string }>;
export type CloseName = keyof typeof closeCodes;
