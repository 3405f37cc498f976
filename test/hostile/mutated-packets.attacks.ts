// Packets that are authentic and wrong.
import type { Attack } from './attack.ts';

const bound = 'no assertion or exception that a packet reaches ends the worker (patches `0005` and `0006`)';
const outcome = 'They are dropped, or cost the session that they came over; `npm run fuzz` sends a million of them.';

export const attacks = {
  rtp: { attack: 'Authentic RTP packets of all codecs, mutated', bound, outcome },
  rtcp: { attack: 'Authentic RTCP packets, mutated', bound, outcome },
  sctp: { attack: 'Authentic SCTP packets, mutated', bound, outcome },
  stun: { attack: 'Authentic STUN requests, mutated', bound, outcome },
  dtls: { attack: 'DTLS records of a handshake, mutated', bound, outcome },
  tcpFrames: { attack: 'Frames over ICE-TCP, mutated', bound, outcome },
} as const satisfies Record<string, Attack>;
