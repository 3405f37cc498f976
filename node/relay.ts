// TURN as part of a node: what it is started with, and what it adds to the candidates of media.
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import { TurnServer } from './turn/turn-server.ts';

/** What TURN relays to must be among the candidates that clients try; it is announced to all, last. */
export function withRelayed(announced: readonly string[], relayIp: string): readonly string[] {
  return announced.length === 0 || announced.includes(relayIp) ? announced : [...announced, relayIp];
}

type TurnPlaces = { address: () => string | undefined; host: () => string; onRenew: () => void };

/** undefined where TURN is off. @throws Error with one sentence */
export async function startTurn(
  { webrtc, tls }: Config,
  log: Log,
  { address, host, onRenew }: TurnPlaces,
): Promise<TurnServer | undefined> {
  const { enabled, port, tlsPort, relayIp } = webrtc.turn;
  if (!enabled) return undefined;
  return TurnServer.start({
    log,
    listenIp: webrtc.listenIp,
    port,
    tls: tls && tlsPort !== null ? { port: tlsPort, keyPath: tls.keyPath, certPath: tls.certPath } : undefined,
    mediaIp: relayIp,
    address,
    tlsHost: () => new URL(`https://${host()}`).hostname,
    onRenew,
  });
}
