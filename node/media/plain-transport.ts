// Plain transport: RTP over loopback between a component process and its room.
import type { PlainTransport, Router } from 'mediasoup/types';
import type { RtpAddress } from '../rooms/interfaces.ts';
import { closeAfterTimeout, mediaClosedError, toWorkerError } from './media-error.ts';
import type { WorkerProcess } from './worker/worker-process.ts';

/** Components run on this host, so their RTP never leaves it. */
export const loopback = '127.0.0.1';

/**
 * Ports that no other part uses: SIP and its calls, node ports of Kubernetes, media workers from 50000. By default a worker would use any
 * port from 10000 on.
 */
const portRange = { min: 33_000, max: 48_999 };

/**
 * Creates the transport and connects it to the socket of the component. Closes it on failure.
 * @param assertOpen throws if the owner was closed meanwhile
 * @throws ServiceError `unavailable`
 */
export async function connectPlainTransport(
  worker: WorkerProcess,
  router: () => Promise<Router>,
  { ip, port }: RtpAddress,
  assertOpen: () => void,
): Promise<PlainTransport> {
  const from = await router();
  assertOpen();
  const options = { listenInfo: { protocol: 'udp', ip: loopback, portRange }, rtcpMux: true, comedia: false } as const;
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
