// Where workers listen, and which addresses clients are told to reach them at.
import type { IceCandidate, TransportListenInfo } from 'mediasoup/types';
import { ServiceError } from '../common/errors.ts';
import { wantedBuffer } from './worker/socket-buffers.ts';

/** One UDP and one TCP port of the same number. */
export function listenInfos(ip: string, port: number): TransportListenInfo[] {
  return [
    { protocol: 'udp', ip, port, recvBufferSize: wantedBuffer, sendBufferSize: wantedBuffer },
    { protocol: 'tcp', ip, port },
  ];
}

/** Whether an address means all interfaces, so that it cannot be given to clients. */
export function isWildcard(ip: string): boolean {
  return ip === '0.0.0.0' || /^[0:]+$/.test(ip);
}

/**
 * The addresses that clients are told: those announced, else the one that is listened at.
 * @throws ServiceError `unavailable` where neither is known.
 */
export function clientAddresses(listenIp: string, announced: readonly string[]): readonly string[] {
  if (announced.length > 0) return announced;
  if (isWildcard(listenIp)) throw new ServiceError('unavailable', 'The address for media of this node is not known yet', { retryAfter: 1 });
  return [listenIp];
}

/** Steps between local preferences that mediasoup gives are 100 and more, so up to this many addresses keep priorities unique. */
const maxAddresses = 64;

/**
 * ICE candidates (RFC 8445, section 5.1) for each address, the first preferred. mediasoup's own have the address that it listens
 * at; they are only told to clients, the worker answers whatever arrives at its port.
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
