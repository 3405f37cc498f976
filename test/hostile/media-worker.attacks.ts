// Attacks of a guest on a media worker.
import type { Attack } from './attack.ts';

export const attacks = {
  emptyExtension: {
    attack: 'RTP packets whose two-byte header extension has an element of length 0',
    bound: 'the element is removed (patch `0003`)',
    outcome: 'The packet is forwarded without it. Previously one such packet ended every room of the worker.',
  },
  sctpAfterShutdown: {
    attack: 'SCTP SHUTDOWN, then a repeated COOKIE ECHO',
    bound: 'the association is not restarted (patch `0004`)',
    outcome: 'The association ends. Previously these two packets ended every room of the worker.',
  },
  largePacket: {
    attack: 'RTP packets of 33,000 bytes that consist almost only of a header extension',
    bound: '1,600 bytes (patch `0003`)',
    outcome: 'They are dropped. Previously one such packet ended every room of the worker.',
  },
  halfFrames: {
    attack: 'Connections to the ICE-TCP port of a worker that send half a frame and no STUN',
    bound: '10 s; 128 per IPv4 address or /64 of IPv6, 1,024 per port (patch `0008`)',
    outcome: 'The oldest is closed. Previously 10,000 of them held 632 MB forever.',
  },
  repeatedNacks: {
    attack: 'RTCP NACKs that request the same packet repeatedly',
    bound: 'four times, each after twice the previous interval (patch `0021`)',
    outcome: 'Further ones are ignored. Previously each packet was sent once per RTT for two seconds.',
  },
  manySources: {
    attack: 'RTCP packets, each with a different source (SSRC)',
    bound: '512 sources per transport (patch `0011`)',
    outcome: 'The one with the longest silence is removed. Previously each further packet increased the cost of the worker.',
  },
} as const satisfies Record<string, Attack>;
