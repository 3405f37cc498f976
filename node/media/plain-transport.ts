// Plain transport: RTP over loopback between a component process and its room.
import type { PlainTransport } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import type { RtpAddress } from '../rooms/interfaces.ts';
import type { RoomLeg } from './legs/room-leg.ts';
import { loopback, loopbackListenInfo, loopbackPort } from './loopback.ts';
import { closeAfterTimeout, mediaClosedError, toWorkerError } from './media-error.ts';

/** The transport of one component. It keeps its addresses when it moves to another leg. All methods but close fail after close(). */
export class ComponentTransport {
  readonly #name: string;
  #leg: RoomLeg;
  /** Socket of the component. */
  #remote: RtpAddress | undefined;
  #transport: PlainTransport | undefined;
  /** Replaces the transport of a lost leg. */
  #moving: Promise<PlainTransport> | undefined;
  #closed = false;

  /** `name`: for errors. */
  constructor(name: 'ingress' | 'egress', at: RoomLeg) {
    this.#name = name;
    this.#leg = at;
  }

  get leg(): RoomLeg {
    return this.#leg;
  }

  /** Accepts RTP from this address only. Resolves with its address. Call it once. @throws ServiceError `conflict`, `unavailable` */
  async connect(remote: RtpAddress): Promise<RtpAddress> {
    this.assertOpen();
    if (this.#transport) throw new ServiceError('conflict', `This ${this.#name} is already connected`);
    const transport = await this.#create(remote);
    this.#remote = remote;
    this.#transport = transport;
    return { ip: loopback, port: transport.tuple.localPort };
  }

  /** @throws ServiceError `conflict` if it is not connected, `unavailable` */
  async current(): Promise<PlainTransport> {
    this.assertOpen();
    const transport = (await this.#moving) ?? this.#transport;
    if (!transport) throw new ServiceError('conflict', `This ${this.#name} is not connected`);
    return transport;
  }

  /** Its leg was lost. Resolves with the transport at another leg; undefined if it was not connected. @throws ServiceError `unavailable` */
  async move(to: RoomLeg): Promise<PlainTransport | undefined> {
    this.#leg = to;
    if (!this.#remote || !this.#transport) return undefined;
    const moving = this.#create(this.#remote, this.#transport.tuple.localPort);
    this.#moving = moving;
    const transport = await moving;
    if (this.#moving === moving) {
      this.#transport = transport;
      this.#moving = undefined;
    }
    return transport;
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    this.#transport?.close();
  }

  assertOpen(): void {
    if (this.#closed) throw mediaClosedError();
  }

  /** Closes the transport on failure. `port`: where it receives; any if omitted. */
  async #create(remote: RtpAddress, port?: number): Promise<PlainTransport> {
    const { leg } = this.#leg;
    const { worker } = leg;
    const from = await leg.router();
    this.assertOpen();
    const listenInfo = port === undefined ? loopbackListenInfo : loopbackPort(port);
    const options = { listenInfo, rtcpMux: true, comedia: false };
    const transport = await worker
      .call('create transport', from.createPlainTransport(options), closeAfterTimeout)
      .catch((error: unknown) => {
        throw toWorkerError(error, mediaClosedError);
      });
    try {
      // Without comedia the worker drops packets of any other address.
      await worker.call('connect', transport.connect(remote));
      this.assertOpen();
    } catch (error) {
      transport.close();
      throw toWorkerError(error, mediaClosedError);
    }
    return transport;
  }
}
