// Addresses of TURN, derived from the settings of WebRTC.
import { isLoopbackAddress } from './addresses.ts';
import type { WebrtcConfig } from './webrtc.ts';

/** Addresses that clients get: the TURN relay target must be among them, so it is announced to all, last. */
export function addressesWithTurn(announced: readonly string[], { enabled, relayIp }: WebrtcConfig['turn']): readonly string[] {
  return !enabled || announced.length === 0 || announced.includes(relayIp) ? announced : [...announced, relayIp];
}

/** Source address of relayed media; undefined without TURN, and on loopback, where relayed and direct traffic look the same. */
export function turnRelayAddress({ enabled, relayIp }: WebrtcConfig['turn']): string | undefined {
  return enabled && !isLoopbackAddress(relayIp) ? relayIp : undefined;
}

/** TLS host name: its leading `*` becomes the announced address, as a single label if more labels follow. */
export function turnHost(host: string, announced: string): string {
  if (host === '*') return announced;
  return host.startsWith('*') ? announced.replaceAll(/[.:]/g, '-') + host.slice(1) : host;
}
