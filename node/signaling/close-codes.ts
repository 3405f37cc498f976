// Every way in which the server closes a websocket: code and reason, closed list (RFC 6455, section 7.4).
import { nodeGoingAway } from '../rooms/proxied-socket.ts';

/** What the server ends for good has one of three reasons: `Peer removed`, `Room stopped`, `Internal server error`. */
export const closeCodes = {
  peerRemoved: { code: 1000, reason: 'Peer removed', description: 'The peer was removed: the session is over.' },
  roomStopped: { code: 1000, reason: 'Room stopped', description: 'The room ended: the session is over.' },
  left: { code: 1000, reason: 'Peer left', description: 'The answer to leave: the session is over.' },
  internalError: { code: 1011, reason: 'Internal server error', description: 'The peer crashed: the session is over.' },
  goingAway: { ...nodeGoingAway, description: 'The node that holds the socket ends, or the node behind it is lost.' },
  roomMoved: {
    code: 1001,
    reason: 'Node going away: join again at another node',
    description: 'The room ended with its node of a cluster, which ends or is drained: it may be made again at another node.',
  },
  malformed: { code: 4400, reason: 'Malformed message', description: 'A frame that is binary, no JSON, or no request with id and method.' },
  unauthenticated: { code: 4401, reason: 'Not authenticated', description: 'Authentication failed; the answer before it says why.' },
  authenticationTimeout: {
    code: 4408,
    reason: 'Authentication timeout',
    description: 'No authentication in time, or before too many newer sockets.',
  },
  takenOver: { code: 4409, reason: 'Taken over by a newer socket', description: 'A newer socket took this one’s place.' },
  tooSlow: { code: 4410, reason: 'Events not read in time', description: 'Server socket: events were not read as fast as they came.' },
  tooLarge: { code: 4413, reason: 'Message too large', description: 'A message was larger than allowed.' },
  tooFast: { code: 4429, reason: 'Too many messages', description: 'Messages came faster than allowed.' },
} as const satisfies Record<string, { code: number; reason: string; description: string }>;
export type CloseCodeName = keyof typeof closeCodes;
