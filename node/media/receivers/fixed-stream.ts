// Fixed stream: one stream to a receiver, whose track changes without negotiation. Each change is another consumer, which continues the
// stream with its first packet (patches 0050 to 0054 of the media worker).
import type { Consumer, Producer, RtpCapabilities, WebRtcTransport } from 'mediasoup/types';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { FixedStream, FixedStreamOptions } from '../../rooms/interfaces.ts';
import { hasDependencies } from '../dependency-descriptor.ts';
import type { Leg } from '../legs/leg.ts';
import type { LegTracks } from '../legs/room-tracks.ts';
import { checkRtpCapabilities } from '../parameters.ts';
import { consumeTrack, receivableId } from './consume-track.ts';
import { withReceiverNumbers } from './receiver-numbers.ts';
import { whenConnected } from './when-connected.ts';

export type FixedStreamContext = {
  log: Log;
  leg: Leg;
  tracks: LegTracks<Producer>;
  transport: WebRtcTransport;
};

/** Delay until a failed change is tried again, in milliseconds. The worker did not respond in time. */
const retryDelayMs = 1_000;

export class ContinuedStream implements FixedStream {
  readonly #options: FixedStreamOptions;
  readonly #context: FixedStreamContext;
  readonly #capabilities: RtpCapabilities;
  /** The consumer whose packets are sent, and its successor until its first packet. */
  #sending: Consumer | undefined;
  #next: Consumer | undefined;
  readonly #trackIds = new WeakMap<Consumer, string>();
  #wanted: string | undefined;
  #changing = false;
  #retry: Timer | undefined;

  constructor(options: FixedStreamOptions, context: FixedStreamContext) {
    this.#options = options;
    this.#context = context;
    this.#capabilities = withReceiverNumbers(checkRtpCapabilities(options.rtpCapabilities), options);
    context.transport.observer.once('close', () => this.#retry?.stop());
  }

  get trackId(): string | undefined {
    return this.#wanted !== undefined && this.#context.tracks.has(this.#wanted) ? this.#wanted : undefined;
  }

  supports(trackId: string): boolean {
    return receivableId(this.#context.tracks, trackId, this.#capabilities) !== undefined;
  }

  awaitsSuccessor(trackId: string): boolean {
    const [sending] = this.consumers;
    return sending?.[0] === trackId && this.#isFormer(sending);
  }

  show(trackId: string | undefined): void {
    this.#wanted = trackId;
    if (!this.#changing) void this.#change();
  }

  /** Its consumers that exist, with their tracks. */
  get consumers(): [string, Consumer][] {
    return [this.#sending, this.#next].flatMap((consumer): [string, Consumer][] => {
      const trackId = consumer && !consumer.closed ? this.#trackIds.get(consumer) : undefined;
      return consumer && trackId !== undefined ? [[trackId, consumer]] : [];
    });
  }

  /** One change at a time; changes that were replaced meanwhile are skipped. */
  async #change(): Promise<void> {
    const { transport, log } = this.#context;
    this.#retry?.stop();
    this.#changing = true;
    try {
      while (!transport.closed && this.#latest !== this.#wanted) await this.#changeTo(this.#wanted);
    } catch (error) {
      if (transport.closed) return;
      log.debug({ err: error }, 'could not change track of stream');
      this.#retry = new Timer(retryDelayMs, () => this.show(this.trackId));
    } finally {
      this.#changing = false;
    }
  }

  /** Null if its track has a successor, which is to continue the stream. */
  get #latest(): string | undefined | null {
    const latest = this.consumers.at(-1);
    return latest && this.#isFormer(latest) ? null : latest?.[0];
  }

  #isFormer([trackId, { producerId }]: [string, Consumer]): boolean {
    const codecs = this.#context.tracks.codecsOf(trackId);
    return codecs.length > 0 && codecs.every(([, { id }]) => id !== producerId);
  }

  async #changeTo(trackId: string | undefined): Promise<void> {
    const replaced = this.#next;
    this.#next = undefined;
    replaced?.close();
    if (trackId === undefined) {
      this.#sending?.close();
      return;
    }
    // The replaced one may have taken the stream over, so that the one before it no longer sends.
    if (!replaced && this.#latest === trackId) return;
    if (!this.#context.tracks.has(trackId)) {
      this.#wanted = this.#latest ?? undefined;
      return;
    }
    await this.#start(await this.#consume(trackId));
  }

  async #start(consumer: Consumer): Promise<void> {
    const { transport, leg } = this.#context;
    if (consumer.closed) return;
    if (this.#sending && !this.#sending.closed) this.#next = consumer;
    else this.#sending = consumer;
    this.#watchFirstPacket(consumer);
    await whenConnected(transport, consumer, () => leg.worker.call('resume', consumer.resume())).catch((error: unknown) => {
      consumer.close();
      throw error;
    });
  }

  async #consume(trackId: string): Promise<Consumer> {
    const sentId = receivableId(this.#context.tracks, trackId, this.#capabilities) ?? trackId;
    const { consumer } = await consumeTrack(sentId, this.#context, {
      rtpCapabilities: this.#capabilities,
      mid: this.#options.mid,
      // The stream has no extension for more, because other tracks follow in it.
      layersOf: (track) => (hasDependencies(track) ? { spatialLayer: 0 } : undefined),
      // It may have taken the stream over: then the one before it no longer sends.
      onClosed: (closed) => {
        if (this.#next === closed) this.#sending?.close();
      },
      toError: (error) => error,
    });
    this.#trackIds.set(consumer, trackId);
    return consumer;
  }

  /** The worker reports a key frame, or a packet of audio. The predecessor is not needed after it. */
  #watchFirstPacket(consumer: Consumer): void {
    const { worker } = this.#context.leg;
    const report = (types: ('keyframe' | 'rtp')[]) => {
      // Fails only if the track or the worker has ended, which is reported elsewhere.
      worker.call('trace', consumer.enableTraceEvent(types)).catch(() => {});
    };
    consumer.once('trace', () => {
      if (!consumer.closed) report([]);
      if (this.#next !== consumer) return;
      this.#next = undefined;
      this.#sending?.close();
      this.#sending = consumer;
    });
    report([consumer.kind === 'video' ? 'keyframe' : 'rtp']);
  }
}
