// TURN of a node: starts the TURN server if it is enabled.
import type { Log } from '../common/log.ts';
import { turnHost } from '../config/turn.ts';
import type { WebrtcConfig } from '../config/webrtc.ts';
import { TurnServer } from './turn-server.ts';

export type TurnContext = {
  webrtc: WebrtcConfig;
  log: Log;
  /** Public address of the node; undefined while it is not known. */
  address: () => string | undefined;
  /** SVC_HOST with its port. */
  host: () => string;
  /** Credentials must be renewed. */
  onRenew: () => void;
};

/** undefined if TURN is disabled. @throws Error with one sentence */
export async function startTurn({ webrtc, log, address, host, onRenew }: TurnContext): Promise<TurnServer | undefined> {
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
