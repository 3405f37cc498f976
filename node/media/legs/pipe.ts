// Pipe: carries tracks of a room from one of its legs to another, over loopback between their media workers.
import type { DataProducer, PipeTransport, Producer } from 'mediasoup/types';
import { DroppedMessages } from '../data/dropped-messages.ts';
import { withDependencies } from '../dependency-descriptor.ts';
import { loopbackListenInfo } from '../loopback.ts';
import { closeAfterTimeout, mediaClosedError, toWorkerError, trackNotFoundError } from '../media-error.ts';
import { rawStats } from '../raw-stats.ts';
import type { WorkerProcess } from '../worker/worker-process.ts';
import type { Leg } from './leg.ts';

/** Time in milliseconds in which key frame requests of receivers behind a pipe become one. A pipe requests them for every layer. */
const keyFrameRequestDelay = 500;

type Source = Producer | DataProducer;
/** The track at the sending and at the receiving end of a pipe. Either ends with the other. */
type End = { readonly closed: boolean; close(): void; observer: { once(event: 'close', listener: () => void): unknown } };
export type PipedTrack = {
  close(): void;
  onClosed(listener: () => void): void;
  /** Messages of a data track on their way. */
  underWay?(): Promise<number>;
};

export class Pipe {
  readonly #from: WorkerProcess;
  readonly #to: WorkerProcess;
  readonly #sending: PipeTransport;
  readonly #receiving: PipeTransport;

  private constructor(
    workers: { from: WorkerProcess; to: WorkerProcess },
    transports: { sending: PipeTransport; receiving: PipeTransport },
  ) {
    this.#from = workers.from;
    this.#to = workers.to;
    this.#sending = transports.sending;
    this.#receiving = transports.receiving;
  }

  /** `sctp`: it carries data tracks. @throws ServiceError `unavailable` */
  static async open(from: Leg, to: Leg, { sctp }: { sctp: boolean }): Promise<Pipe> {
    const [sending, receiving] = await bothOrNone([openEnd(from, sctp), openEnd(to, sctp)]);
    tie(sending, receiving);
    try {
      await Promise.all([
        from.worker.call('connect pipe', sending.connect({ ip: receiving.tuple.localAddress, port: receiving.tuple.localPort })),
        to.worker.call('connect pipe', receiving.connect({ ip: sending.tuple.localAddress, port: sending.tuple.localPort })),
      ]);
    } catch (error) {
      sending.close();
      throw toWorkerError(error, mediaClosedError);
    }
    to.worker.pipes.opened(receiving);
    return new Pipe({ from: from.worker, to: to.worker }, { sending, receiving });
  }

  /** Calls back when it closed. */
  onClosed(listener: () => void): void {
    if (this.#sending.closed) listener();
    else this.#sending.observer.once('close', listener);
  }

  /** Makes a track available at its receiving end, with the same id. @throws ServiceError `track_not_found`, `unavailable` */
  async send(source: Source): Promise<PipedTrack> {
    const sent = 'kind' in source ? this.#sendMedia(source) : this.#sendData(source);
    return sent.catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(source.id));
    });
  }

  close(): void {
    this.#to.pipes.closes(this.#receiving);
    this.#sending.close();
  }

  async #sendMedia({ id }: Producer): Promise<PipedTrack> {
    const outgoing = await this.#from.call('pipe', this.#sending.consume({ producerId: id }), closeAfterTimeout);
    const { kind, rtpParameters, producerPaused: paused } = outgoing;
    const produced = this.#receiving.produce({ id, kind, rtpParameters: withDependencies(rtpParameters), paused, keyFrameRequestDelay });
    const incoming = await this.#to.call('pipe', produced, closeAfterTimeout).catch(closing(outgoing));
    const follow = () => {
      const call = outgoing.producerPaused ? incoming.pause() : incoming.resume();
      // Fails only if the track or the worker has ended, which is reported elsewhere.
      this.#to.call('pause', call).catch(() => {});
    };
    outgoing.on('producerpause', follow);
    outgoing.on('producerresume', follow);
    if (outgoing.producerPaused !== paused) follow();
    this.#to.pipes.sends(incoming, this.#receiving);
    const { close, onClosed } = tie(outgoing, incoming);
    const end = () => {
      this.#to.pipes.ends(incoming);
      close();
    };
    return { close: end, onClosed };
  }

  async #sendData({ id }: DataProducer): Promise<PipedTrack> {
    // Both ends count the same messages, so it sends when the other one exists.
    const consumed = this.#sending.consumeData({ dataProducerId: id, paused: true });
    const outgoing = await this.#from.call('pipe', consumed, closeAfterTimeout);
    const dropped = new DroppedMessages();
    dropped.watch(outgoing);
    const { sctpStreamParameters, label, protocol } = outgoing;
    const produced = this.#receiving.produceData({ id, ...(sctpStreamParameters && { sctpStreamParameters }), label, protocol });
    const incoming = await this.#to.call('pipe', produced, closeAfterTimeout).catch(closing(outgoing));
    const tied = tie(outgoing, incoming);
    await this.#from.call('pipe', outgoing.resume()).catch(closing(outgoing));
    const underWay = async () => {
      const [sent] = (await rawStats(this.#from, outgoing)) ?? [];
      const [arrived] = (await rawStats(this.#to, incoming)) ?? [];
      return sent && arrived ? sent.messagesSent - dropped.of(outgoing) - arrived.messagesReceived : 0;
    };
    return { ...tied, underWay };
  }
}

async function openEnd(leg: Leg, enableSctp: boolean): Promise<PipeTransport> {
  const router = await leg.router();
  const options = { listenInfo: loopbackListenInfo, enableSctp, enableRtx: true };
  return leg.worker.call('create pipe', router.createPipeTransport(options), closeAfterTimeout).catch((error: unknown) => {
    throw toWorkerError(error, mediaClosedError);
  });
}

/** The sending end closes first: otherwise the worker would still send to an end that no longer exists. */
function tie(sending: End, receiving: End): PipedTrack {
  sending.observer.once('close', () => receiving.close());
  receiving.observer.once('close', () => sending.close());
  // The notification arrived before there was a listener.
  if (sending.closed) receiving.close();
  else if (receiving.closed) sending.close();
  return {
    close: () => sending.close(),
    onClosed: (listener) => void (sending.closed ? listener() : sending.observer.once('close', listener)),
  };
}

function closing(opened: { close(): void }): (error: unknown) => never {
  return (error) => {
    opened.close();
    throw error;
  };
}

async function bothOrNone<Made extends { close(): void }>(pair: [Promise<Made>, Promise<Made>]): Promise<[Made, Made]> {
  try {
    return await Promise.all(pair);
  } catch (error) {
    for (const each of pair) each.then(closeAfterTimeout, () => {});
    throw error;
  }
}
