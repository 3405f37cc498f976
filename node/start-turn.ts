// TURN of a node: starts the TURN server and adds its address to the media candidates.

import type { Log } from './common/log.ts';
import { isLoopbackAddress } from './config/addresses.ts';
import type { Config } from './config.ts';
import { TurnServer } from './turn/turn-server.ts';

/** The TURN relay target must be among the candidates of clients, so it is announced to all, last. */
export function withTurnAddress(announced: readonly string[], relayIp: string): readonly string[] {
  return announced.length === 0 || announced.includes(relayIp) ? announced : [...announced, relayIp];
}

/** Source address of relayed media; undefined without TURN, and on loopback, where relayed and direct traffic look the same. */
export function turnRelayAddress({ webrtc }: Config): string | undefined {
  return webrtc.turn.enabled && !isLoopbackAddress(webrtc.turn.relayIp) ? webrtc.turn.relayIp : undefined;
}

/** TLS host name: its leading `*` becomes the announced address, as a single label if more labels follow. */
export function turnHost(host: string, announced: string): string {
  if (host === '*') return announced;
  return host.startsWith('*') ? announced.replaceAll(/[.:]/g, '-') + host.slice(1) : host;
}

type TurnEndpoint = { address: () => string | undefined; host: () => string; onRenew: () => void };

/** undefined if TURN is disabled. @throws Error with one sentence */
export async function startTurn({ webrtc }: Config, log: Log, { address, host, onRenew }: TurnEndpoint): Promise<TurnServer | undefined> {
  const { enabled, port, tls, relayIp } = webrtc.turn;
  if (!enabled) return undefined;
  return TurnServer.start({
    log,
    listenIp: webrtc.listenIp,
    port,
    tls: tls ?? undefined,
    mediaIp: relayIp,
    address,
    tlsHost: (announced) => turnHost(tls?.host ?? new URL(`https://${host()}`).hostname, announced),
    onRenew,
  });
}
