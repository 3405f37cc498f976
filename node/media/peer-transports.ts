// WebRTC transports of a peer: one to send and one to receive, or one for both.
import type { WebRtcTransport } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import type { Log } from '../common/log.ts';
import type { Direction, PeerMediaListener, TransportUse, WireObject } from '../rooms/interfaces.ts';
import { candidatesFor } from './addresses.ts';
import type { Leg } from './legs/leg.ts';
import { mediaClosedError, toClientError, toWorkerError } from './media-error.ts';
import { checkDtlsParameters } from './parameters.ts';
import { stripUndefined } from './strip-undefined.ts';
import { tellWarningsOf } from './worker/worker-warnings.ts';

/** Initial bandwidth estimate of a receiver in bit/s: enough for one large layer, low enough for slow links. */
const initialAvailableOutgoingBitrate = 1_000_000;

/**
 * Limit of one data channel message, as browsers support it (RFC 8841), and of the send buffer of a slow receiver, which loses the excess.
 */
const maxSctpMessageSize = 256 * 1024;
const sctpSendBufferSize = 256 * 1024;

export type PeerTransportsOptions = {
  /** Log of the peer. */
  log: Log;
  leg: Leg;
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  listener: Pick<PeerMediaListener, 'failed' | 'transportChanged'>;
};

export class PeerTransports {
  readonly #options: PeerTransportsOptions;
  readonly #transports = new Map<Direction, WebRtcTransport>();
  /** The latest request per direction: transports of older requests are closed. */
  readonly #newest = new Map<Direction, symbol>();
  #closed = false;

  constructor(options: PeerTransportsOptions) {
    this.#options = options;
  }

  async create(use: TransportUse, { sctp }: { sctp: boolean }): Promise<WireObject> {
    const directions: readonly Direction[] = use === 'both' ? ['send', 'recv'] : [use];
    const request = Symbol(use);
    const { leg, addresses, maxIncomingBitrate } = this.#options;
    const { worker } = leg;
    for (const direction of directions) {
      this.#newest.set(direction, request);
      const before = this.#transports.get(direction);
      if (before) worker.closeTransport(before);
      for (const [each, transport] of this.#transports) if (transport === before) this.#transports.delete(each);
    }
    const known = addresses();
    const router = await leg.router();
    const protocols = { enableUdp: true, enableTcp: true, preferUdp: true };
    const data = sctp ? { enableSctp: true, maxSctpMessageSize, sctpSendBufferSize } : {};
    const options = { ...protocols, ...data, initialAvailableOutgoingBitrate };
    const transport = await worker.createTransport(router, options).catch((error: unknown) => {
      throw toWorkerError(error, mediaClosedError);
    });
    try {
      const bitrate = use === 'recv' ? undefined : maxIncomingBitrate();
      if (bitrate !== undefined) await worker.call('limit bitrate', transport.setMaxIncomingBitrate(bitrate));
      if (this.#closed) throw mediaClosedError();
      if (directions.some((direction) => this.#newest.get(direction) !== request))
        throw new ServiceError('conflict', `Another ${use} transport replaced this one`);
    } catch (error) {
      worker.closeTransport(transport);
      throw toWorkerError(error, mediaClosedError);
    }
    for (const direction of directions) this.#transports.set(direction, transport);
    this.#watch(transport);
    tellWarningsOf(transport, this.#options.log);
    return describe(transport, known);
  }

  async connect(transportId: string, dtlsParameters: WireObject): Promise<void> {
    const transport = this.byId(transportId);
    const checked = checkDtlsParameters(dtlsParameters);
    await this.#options.leg.worker.call('connect', transport.connect({ dtlsParameters: checked })).catch((error: unknown) => {
      throw transport.closed ? noTransport(transportId) : toClientError(error, 'dtlsParameters were');
    });
  }

  async restartIce(transportId: string): Promise<WireObject> {
    const transport = this.byId(transportId);
    return this.#options.leg.worker.call('restart ICE', transport.restartIce()).catch((error: unknown) => {
      throw toWorkerError(error, () => noTransport(transportId));
    });
  }

  get(direction: Direction): WebRtcTransport | undefined {
    return this.#transports.get(direction);
  }

  /** @throws ServiceError `not_found`; `conflict` if the transport has the other direction */
  byId(transportId: string, direction?: Direction): WebRtcTransport {
    const uses = [...this.#transports].filter(([, { id }]) => id === transportId);
    const [first] = uses;
    if (!first) throw noTransport(transportId);
    if (direction !== undefined && uses.every(([each]) => each !== direction))
      throw new ServiceError('conflict', `Transport ${transportId} is not a ${direction} transport`);
    return first[1];
  }

  /** After the connection, DTLS fails only if the worker closed the transport (patch 0006). */
  #watch(transport: WebRtcTransport): void {
    const { listener } = this.#options;
    let connected = false;
    transport.on('dtlsstatechange', (state) => {
      if (state === 'connected') connected = true;
      if (this.#closed || transport.closed) return;
      if (state === 'failed' && connected) listener.failed('transport failed after invalid packets');
      else if (state === 'connected') listener.transportChanged?.('connected');
      else if (state === 'failed' || state === 'closed') listener.transportChanged?.('closed');
    });
    transport.on('icestatechange', (state) => {
      if (this.#closed || transport.closed || !connected) return;
      listener.transportChanged?.(state === 'disconnected' ? 'lost' : 'connected');
    });
  }

  close(): void {
    this.#closed = true;
    for (const transport of this.#transports.values()) this.#options.leg.worker.closeTransport(transport);
    this.#transports.clear();
    this.#newest.clear();
  }
}

/** mediasoup-client's TransportOptions, as plain JSON. */
function describe(transport: WebRtcTransport, addresses: readonly string[]): WireObject {
  const { id, iceParameters, dtlsParameters, sctpParameters } = transport;
  const candidates = candidatesFor(transport.iceCandidates, addresses);
  const options: WireObject = {
    id,
    iceParameters,
    iceCandidates: candidates.map(stripUndefined),
    dtlsParameters,
  };
  if (sctpParameters) {
    const { port, OS, MIS, maxMessageSize } = sctpParameters;
    options.sctpParameters = { port, OS, MIS, maxMessageSize };
  }
  return options;
}

function noTransport(transportId: string): ServiceError {
  return new ServiceError('not_found', `Transport ${transportId.slice(0, 64)} does not exist`);
}
