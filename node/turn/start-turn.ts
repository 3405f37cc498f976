// TURN of a node: starts the TURN server if it is enabled.
import type { FeatureContext } from '../common/feature-context.ts';
import type { AnnouncedAddresses } from '../config/announced.ts';
import type { NodeAddress } from '../config/node-address.ts';
import { turnHost } from '../config/turn.ts';
import type { WebrtcConfig } from '../config/webrtc.ts';
import { TurnServer } from './turn-server.ts';

export type TurnContext = Pick<FeatureContext, 'log' | 'closers'> & {
  webrtc: WebrtcConfig;
  announced: Pick<AnnouncedAddresses, 'current'>;
  address: NodeAddress;
};

/** undefined if TURN is disabled. @throws Error with a readable message */
export async function startTurn({ webrtc, log, closers, announced, address }: TurnContext): Promise<TurnServer | undefined> {
  const { enabled, port, tls, relayIp } = webrtc.turn;
  if (!enabled) return undefined;
  const server = await TurnServer.start({
    log,
    listenIp: webrtc.listenIp,
    port,
    tls: tls ?? undefined,
    mediaIp: relayIp,
    address: () => announced.current[0],
    tlsHost: (publicAddress) => turnHost(tls?.host ?? new URL(`https://${address.host}`).hostname, publicAddress),
  });
  closers.add('media', () => server.close());
  return server;
}
