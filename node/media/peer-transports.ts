// The two WebRTC transports of a peer: one that it sends over, one that it receives over.
import type { Router, WebRtcTransport } from 'mediasoup/types';
import { ServiceError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';
import type { Direction, PeerMediaListener, WireObject } from '../rooms/interfaces.ts';
import { candidatesFor } from './addresses.ts';
import { mediaClosedError, toClientError, toWorkerError } from './media-error.ts';
import { checkDtlsParameters } from './parameters.ts';
import { stripUndefined } from './strip-undefined.ts';
import type { WorkerProcess } from './worker/worker-process.ts';
import { tellWarningsOf } from './worker/worker-warnings.ts';

/** Bit/s that a receiver is thought to have at first: enough for a large layer at once, few enough for a bad link. */
const initialAvailableOutgoingBitrate = 1_000_000;

/** One message of a data channel, as browsers take it at most (RFC 8841), and what may wait for a slow receiver: it loses what is more. */
const maxSctpMessageSize = 256 * 1024;
const sctpSendBufferSize = 256 * 1024;

export type PeerTransportsOptions = {
  /** Of the peer. */
  log: Log;
  worker: WorkerProcess;
  router: () => Promise<Router>;
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  listener: Pick<PeerMediaListener, 'failed'>;
};

export class PeerTransports {
  readonly #options: PeerTransportsOptions;
  readonly #transports = new Map<Direction, WebRtcTransport>();
  /** The newest request per direction: what an older one makes is closed. */
  readonly #newest = new Map<Direction, symbol>();
  #closed = false;

  constructor(options: PeerTransportsOptions) {
    this.#options = options;
  }

  async create(direction: Direction, { sctp }: { sctp: boolean }): Promise<WireObject> {
    const request = Symbol(direction);
    this.#newest.set(direction, request);
    const { worker, addresses, maxIncomingBitrate } = this.#options;
    const before = this.#transports.get(direction);
    if (before) worker.closeTransport(before);
    this.#transports.delete(direction);
    const known = addresses();
    const router = await this.#options.router();
    const protocols = { enableUdp: true, enableTcp: true, preferUdp: true };
    const data = sctp ? { enableSctp: true, maxSctpMessageSize, sctpSendBufferSize } : {};
    const options = { ...protocols, ...data, initialAvailableOutgoingBitrate };
    const transport = await worker.createTransport(router, options).catch((error: unknown) => {
      throw toWorkerError(error, mediaClosedError);
    });
    try {
      const bitrate = direction === 'send' ? maxIncomingBitrate() : undefined;
      if (bitrate !== undefined) await worker.call('limit bitrate', transport.setMaxIncomingBitrate(bitrate));
      if (this.#closed) throw mediaClosedError();
      if (this.#newest.get(direction) !== request)
        throw new ServiceError('conflict', `Another ${direction} transport took the place of this one`);
    } catch (error) {
      worker.closeTransport(transport);
      throw toWorkerError(error, mediaClosedError);
    }
    this.#transports.set(direction, transport);
    this.#watch(transport);
    tellWarningsOf(transport, this.#options.log);
    return describe(transport, known);
  }

  async connect(transportId: string, dtlsParameters: WireObject): Promise<void> {
    const transport = this.byId(transportId);
    const checked = checkDtlsParameters(dtlsParameters);
    await this.#options.worker.call('connect', transport.connect({ dtlsParameters: checked })).catch((error: unknown) => {
      throw transport.closed ? noTransport(transportId) : toClientError(error, 'dtlsParameters were');
    });
  }

  async restartIce(transportId: string): Promise<WireObject> {
    const transport = this.byId(transportId);
    return this.#options.worker.call('restart ICE', transport.restartIce()).catch((error: unknown) => {
      throw toWorkerError(error, () => noTransport(transportId));
    });
  }

  get(direction: Direction): WebRtcTransport | undefined {
    return this.#transports.get(direction);
  }

  /** @throws ServiceError `not_found`; `conflict` where it is of the other direction */
  byId(transportId: string, direction?: Direction): WebRtcTransport {
    for (const [each, transport] of this.#transports) {
      if (transport.id !== transportId) continue;
      if (direction === undefined || direction === each) return transport;
      throw new ServiceError('conflict', `Transport ${transportId} is not one to ${direction} over`);
    }
    throw noTransport(transportId);
  }

  /** Once connected, DTLS fails for one reason: the worker gave the transport up (its patch 0006). */
  #watch(transport: WebRtcTransport): void {
    let connected = false;
    transport.on('dtlsstatechange', (state) => {
      if (state === 'connected') connected = true;
      if (state === 'failed' && connected && !this.#closed) this.#options.listener.failed('its packets broke its transport');
    });
  }

  close(): void {
    this.#closed = true;
    for (const transport of this.#transports.values()) this.#options.worker.closeTransport(transport);
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
