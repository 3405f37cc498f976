// TURN as part of a node: what it is started with, and what it adds to the candidates of media.

import type { Log } from './common/log.ts';
import { isLoopbackAddress } from './config/addresses.ts';
import type { Config } from './config.ts';
import { TurnServer } from './turn/turn-server.ts';

/** What TURN relays to must be among the candidates that clients try; it is announced to all, last. */
export function withTurnAddress(announced: readonly string[], relayIp: string): readonly string[] {
  return announced.length === 0 || announced.includes(relayIp) ? announced : [...announced, relayIp];
}

/** Where media sees what TURN relays come from; undefined without TURN, and on loopback, where everybody comes from there. */
export function turnRelayAddress({ webrtc }: Config): string | undefined {
  return webrtc.turn.enabled && !isLoopbackAddress(webrtc.turn.relayIp) ? webrtc.turn.relayIp : undefined;
}

/** The name of the certificate: its leading `*` is the announced address, as one label where more follows. */
export function turnHost(host: string, announced: string): string {
  if (host === '*') return announced;
  return host.startsWith('*') ? announced.replaceAll(/[.:]/g, '-') + host.slice(1) : host;
}

type TurnEndpoint = { address: () => string | undefined; host: () => string; onRenew: () => void };

/** undefined where TURN is off. @throws Error with one sentence */
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
