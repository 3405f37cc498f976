// Audio of one call: its socket, and its RTP from and to the remote party and the room.
import type { Socket } from 'node:dgram';
import { Limiter } from '../../audio/limiter.ts';
import { frameSamples } from './audio-format.ts';
import { callCodecFacts } from './call-codecs.ts';
import { CallRtpReceiver } from './call-rtp-receiver.ts';
import { CallRtpSender } from './call-rtp-sender.ts';
import { RoomRtpSender } from './room-rtp-sender.ts';
import type { CallSession, NegotiatedMedia, SessionListener } from './session.ts';
import { sendUdp } from './udp.ts';

export type CallOptions = {
  socket: Socket;
  listener: SessionListener;
  /** See CallRtpReceiver. */
  silence: number;
  /** See CallRtpReceiver. */
  allowPrivate: boolean;
  /** SSRC of its audio in the room. */
  ssrc: number;
  /** Milliseconds on the time line of blocks. */
  now: () => number;
  sendToRoom: (packet: Buffer) => void;
  onClosed: (call: Call) => void;
};

export class Call implements CallSession {
  readonly #options: CallOptions;
  readonly #receiver: CallRtpReceiver;
  readonly #sender: CallRtpSender;
  readonly #limiter = new Limiter();
  readonly #voice = new Float32Array(frameSamples);
  readonly #mix = new Float32Array(frameSamples);
  #room: RoomRtpSender | undefined;
  /** True if the call has audio in this block. */
  #speaks = false;
  #closed: Promise<void> | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
    const { socket, listener, silence, allowPrivate } = options;
    this.#receiver = new CallRtpReceiver({ listener, silence, allowPrivate });
    this.#sender = new CallRtpSender({ send: (packet) => sendUdp(socket, packet, this.#receiver.target) });
    socket.on('message', (datagram, { address: ip, port }) => this.#receiver.push(datagram, { ip, port }, options.now()));
  }

  get port(): number {
    return this.#options.socket.address().port;
  }

  get ssrc(): number {
    return this.#options.ssrc;
  }

  applyNegotiation(negotiatedMedia: NegotiatedMedia): void {
    if (this.#closed) return;
    const { bandwidth } = callCodecFacts[negotiatedMedia.codec];
    this.#receiver.agree(negotiatedMedia, this.#options.now());
    this.#sender.agree(negotiatedMedia);
    if (this.#room?.bandwidth === bandwidth) return;
    const room = new RoomRtpSender({ ssrc: this.ssrc, bandwidth, send: this.#options.sendToRoom, after: this.#room });
    this.#room?.close();
    this.#room = room;
  }

  async sendDigits(digits: string, options: { duration?: number; gap?: number } = {}): Promise<void> {
    await this.#sender.sendDigits(digits, options);
  }

  /** Adds audio of the remote party in this block to the sum. */
  hear(from: number, sum: Float32Array): void {
    this.#receiver.tick(this.#options.now());
    this.#speaks = this.#receiver.read(from, this.#voice);
    if (this.#speaks)
      for (let index = 0; index < frameSamples; index += 1) sum[index] = (sum[index] as number) + (this.#voice[index] as number);
    else this.#voice.fill(0);
  }

  /**
   * Sends block `number`: the sum without the call's own audio to the remote party, and that audio to the room. `time`: milliseconds since
   * 1970.
   */
  speak(number: number, sum: Float32Array, time: number): void {
    if (this.#closed) return;
    this.#mix.set(sum);
    if (this.#speaks)
      for (let index = 0; index < frameSamples; index += 1) this.#mix[index] = (sum[index] as number) - (this.#voice[index] as number);
    this.#limiter.run(this.#mix);
    this.#sender.next(number, this.#mix);
    this.#room?.next(number, this.#voice, time);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#options.onClosed(this);
    this.#receiver.close();
    this.#sender.close();
    this.#room?.close();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#options.socket.close(resolve);
    await promise;
  }
}
