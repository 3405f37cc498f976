// Plain transport: RTP over loopback between a component process and its room.
import type { PlainTransport } from 'mediasoup/types';
import type { RtpAddress } from '../rooms/interfaces.ts';
import type { Leg } from './legs/leg.ts';
import { loopbackListenInfo } from './loopback.ts';
import { closeAfterTimeout, mediaClosedError, toWorkerError } from './media-error.ts';

/**
 * Creates the transport and connects it to the socket of the component. Closes it on failure.
 * @param assertOpen throws if the owner was closed meanwhile
 * @throws ServiceError `unavailable`
 */
export async function connectPlainTransport(leg: Leg, { ip, port }: RtpAddress, assertOpen: () => void): Promise<PlainTransport> {
  const { worker } = leg;
  const from = await leg.router();
  assertOpen();
  const options = { listenInfo: loopbackListenInfo, rtcpMux: true, comedia: false };
  const transport = await worker.call('create transport', from.createPlainTransport(options), closeAfterTimeout).catch((error: unknown) => {
    throw toWorkerError(error, mediaClosedError);
  });
  try {
    // Without comedia the worker drops packets of any other address.
    await worker.call('connect', transport.connect({ ip, port }));
    assertOpen();
  } catch (error) {
    transport.close();
    throw toWorkerError(error, mediaClosedError);
  }
  return transport;
}
