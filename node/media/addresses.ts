// Media addresses: listen addresses of media workers, and ICE candidates for clients.
import type { IceCandidate, TransportListenInfo } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import { wantedBuffer } from './worker/socket-buffers.ts';

/** UDP and TCP on the same port number. */
export function listenInfos(ip: string, port: number): TransportListenInfo[] {
  return [
    { protocol: 'udp', ip, port, recvBufferSize: wantedBuffer, sendBufferSize: wantedBuffer },
    { protocol: 'tcp', ip, port },
  ];
}

/** True if an address means all interfaces, so that it cannot be announced to clients. */
export function isWildcard(ip: string): boolean {
  return ip === '0.0.0.0' || /^[0:]+$/.test(ip);
}

/**
 * Addresses for clients: the announced ones, else the listen address.
 * @throws ServiceError `unavailable` if neither is known.
 */
export function clientAddresses(listenIp: string, announced: readonly string[]): readonly string[] {
  if (announced.length > 0) return announced;
  if (isWildcard(listenIp)) throw new ServiceError('unavailable', 'The address for media of this node is not known yet', { retryAfter: 1 });
  return [listenIp];
}

/** mediasoup's local preferences are at least 100 apart, so up to this many addresses keep priorities unique. */
const maxAddresses = 64;

/**
 * ICE candidates (RFC 8445, section 5.1) for each address, the preferred first. mediasoup's candidates contain its listen address.
 * Candidates only inform clients: the worker accepts whatever arrives at its port.
 */
export function candidatesFor(candidates: readonly IceCandidate[], addresses: readonly string[]): IceCandidate[] {
  return addresses.slice(0, maxAddresses).flatMap((address, index) =>
    candidates.map((candidate) => ({
      ...candidate,
      foundation: index === 0 ? candidate.foundation : `${candidate.foundation}${index}`,
      priority: candidate.priority - index * 256,
      ip: address,
      address,
    })),
  );
}
