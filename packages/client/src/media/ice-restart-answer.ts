// SDP answer (RFC 8866) of the server for a connection check: the minimum that a browser needs to send ICE packets.
import type { TransportOptions } from '../generated/protocol.ts';

type IceCandidate = TransportOptions['iceCandidates'][number];

/** Removes characters that could end a line or start another field. */
const word = (value: unknown): string => String(value).replace(/[^\w+/:.=-]/g, '');

/** The answer to an offer with one data channel. */
export function iceRestartAnswer(
  offer: string,
  { iceParameters, dtlsParameters }: Pick<TransportOptions, 'iceParameters' | 'dtlsParameters'>,
  candidates: readonly IceCandidate[],
): string {
  const { usernameFragment, password } = iceParameters;
  const { fingerprints } = dtlsParameters;
  const { algorithm, value } = fingerprints.find((each) => each.algorithm === 'sha-256') ?? fingerprints[0] ?? {};
  const mid = /^a=mid:(\S+)/m.exec(offer)?.[1] ?? '0';
  return [
    'v=0',
    'o=- 1 1 IN IP4 0.0.0.0',
    's=-',
    't=0 0',
    'a=ice-lite',
    `a=group:BUNDLE ${mid}`,
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
    'c=IN IP4 0.0.0.0',
    `a=mid:${mid}`,
    `a=ice-ufrag:${word(usernameFragment)}`,
    `a=ice-pwd:${word(password)}`,
    `a=fingerprint:${word(algorithm)} ${word(value)}`,
    'a=setup:passive',
    'a=sctp-port:5000',
    ...candidates.map(candidateLine),
    'a=end-of-candidates',
    '',
  ].join('\r\n');
}

function candidateLine({ foundation, protocol, priority, address, ip, port, tcpType }: IceCandidate): string {
  const fields = [foundation, 1, protocol, priority, address ?? ip, port].map(word).join(' ');
  return `a=candidate:${fields} typ host${protocol === 'tcp' ? ` tcptype ${word(tcpType ?? 'passive')}` : ''}`;
}
