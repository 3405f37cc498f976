// What a guest can send to a media worker.
import type { Attack } from './attack.ts';

export const attacks = {
  emptyExtension: {
    attack: 'RTP packets whose two-byte header extension has an element of length 0',
    bound: 'the element is taken away (patch `0003`)',
    outcome: 'The packet goes on without it; before, one such packet ended every room of the worker.',
  },
  sctpAfterShutdown: {
    attack: 'SCTP SHUTDOWN, then the COOKIE ECHO again',
    bound: 'the association does not come back (patch `0004`)',
    outcome: 'The association ends; before, these two packets ended every room of the worker.',
  },
  largePacket: {
    attack: 'RTP packets of 33,000 bytes, nearly all of it a header extension',
    bound: '1,600 bytes (patch `0003`)',
    outcome: 'They are dropped; before, one such packet ended every room of the worker.',
  },
  halfFrames: {
    attack: 'Connections to the ICE-TCP port of a worker that send half a frame and no STUN',
    bound: '10 s; 128 for each IPv4 address or /64 of IPv6, 1,024 for each port (patch `0008`)',
    outcome: 'The oldest is closed; before, 10,000 of them held 632 MB for ever.',
  },
  repeatedNacks: {
    attack: 'RTCP NACKs that ask for the same packet again and again',
    bound: 'four times, each after twice the last interval (patch `0021`)',
    outcome: 'The rest is not answered; before, each packet came once an RTT for two seconds.',
  },
  manySources: {
    attack: 'RTCP packets, each of another source (SSRC)',
    bound: '512 sources of a transport (patch `0011`)',
    outcome: 'The one that was silent longest is forgotten; before, each further packet cost the worker more.',
  },
} as const satisfies Record<string, Attack>;
