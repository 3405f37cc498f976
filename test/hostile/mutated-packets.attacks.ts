// Attacks with authenticated but malformed packets.
import type { Attack } from './attack.ts';

const bound = 'no assertion or exception that a packet can reach ends the worker (patches `0005` and `0006`)';
const outcome = 'They are dropped, or end the session that sent them; `npm run fuzz` sends a million of them.';

export const attacks = {
  rtp: { attack: 'Mutated authenticated RTP packets of all codecs', bound, outcome },
  rtcp: { attack: 'Mutated authenticated RTCP packets', bound, outcome },
  sctp: { attack: 'Mutated authenticated SCTP packets', bound, outcome },
  stun: { attack: 'Mutated authenticated STUN requests', bound, outcome },
  dtls: { attack: 'Mutated DTLS records of a handshake', bound, outcome },
  tcpFrames: { attack: 'Mutated frames over ICE-TCP', bound, outcome },
} as const satisfies Record<string, Attack>;
