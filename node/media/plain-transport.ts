// The transport between a component and its room: plain RTP over loopback.
import type { PlainTransport, Router } from 'mediasoup/types';
import type { RtpAddress } from '../rooms/interfaces.ts';
import { closeAfterTimeout, mediaClosedError, toWorkerError } from './media-error.ts';
import type { WorkerProcess } from './worker/worker-process.ts';

/** Components run on this machine: their RTP never leaves it. */
export const loopback = '127.0.0.1';

/** Beside all that are configured or told: of SIP and its calls, node ports of Kubernetes, media workers from 50000. A worker on its own would take any from 10000 on. */
const portRange = { min: 33_000, max: 48_999 };

/**
 * Made and connected to the component's own socket. Nothing is left where that fails.
 * @param assertOpen throws where whoever wanted it was closed meanwhile
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
    // Without comedia the worker drops what comes from any other address.
    await worker.call('connect', transport.connect({ ip, port }));
    assertOpen();
  } catch (error) {
    transport.close();
    throw toWorkerError(error, mediaClosedError);
  }
  return transport;
}
