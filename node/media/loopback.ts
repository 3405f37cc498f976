// Loopback: where media workers send RTP to components, and to each other.
import type { TransportListenInfo } from 'mediasoup/types';

/** Components run on this host, so their RTP never leaves it. */
export const loopback = '127.0.0.1';

/**
 * Ports that no other part uses: SIP and its calls, node ports of Kubernetes, media workers from 50000. By default a worker would use any
 * port from 10000 on.
 */
const portRange = { min: 33_000, max: 48_999 };
export const loopbackListenInfo: TransportListenInfo = { protocol: 'udp', ip: loopback, portRange };

export function loopbackPort(port: number): TransportListenInfo {
  return { protocol: 'udp', ip: loopback, port };
}
