// Audio of a sip component: receives the tracks of the room on one socket, sends each call a mix of all other audio, and sends call audio
// to the room.
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { isRtcp, parseRtp } from '../../rtp/rtp-reader.ts';
import { frameSamples } from './audio-format.ts';
import { AudioReceiver } from './audio-receiver.ts';
import { Call } from './call.ts';
import type { CallAudio, SessionListener } from './session.ts';
import { Ticker } from './ticker.ts';
import { bindUdp, PortPool, type PortRange, sendUdp } from './udp.ts';

export type ComponentAudioOptions = {
  /** Local address for RTP of calls: one address, or all of them. */
  ip: string;
  /** RTP ports of calls; undefined lets the system choose. */
  ports: PortRange | undefined;
  /** Loopback port of the room side; undefined lets the system choose. */
  roomPort?: number;
  /** Milliseconds without a packet after which a remote party counts as lost; 0: never. */
  silence?: number;
  /** True if RTP may be sent to private addresses. */
  allowPrivate: boolean;
  /** Marks that work on a track of the room begins; the returned function marks its end. */
  mark?: (ssrc: number) => () => void;
};

const defaultSilence = 30_000;
const loopback = '127.0.0.1';
/** Maximum of room tracks that are mixed. */
const maxTracks = 500;

export class ComponentAudio implements CallAudio {
  readonly #options: ComponentAudioOptions;
  readonly #room: Socket;
  readonly #ports: PortPool;
  readonly #ticker: Ticker;
  readonly #tracks = new Map<number, AudioReceiver>();
  readonly #calls = new Set<Call>();
  readonly #sum = new Float32Array(frameSamples);
  readonly #block = new Float32Array(frameSamples);
  #roomAddress: { ip: string; port: number } | undefined;
  #closed = false;

  private constructor(options: ComponentAudioOptions, room: Socket) {
    this.#options = options;
    this.#room = room;
    this.#ports = new PortPool(options.ports);
    this.#ticker = new Ticker((number) => this.#run(number));
    room.on('message', (packet) => this.#handle(packet));
  }

  /** @throws Error if `roomPort` is in use */
  static async open(options: ComponentAudioOptions): Promise<ComponentAudio> {
    return new ComponentAudio(options, await bindUdp(loopback, options.roomPort ?? 0));
  }

  /** Loopback port: the room sends to it, and accepts packets from it. */
  get port(): number {
    return this.#room.address().port;
  }

  /** Address at which the room receives call audio. */
  connect(address: { ip: string; port: number }): void {
    this.#roomAddress = address;
  }

  /**
   * Adds an Opus track of the room, which all calls receive; never a track of this component. Idempotent. @throws AvError, Error at the
   * limit
   */
  addTrack(ssrc: number): void {
    if (this.#tracks.has(ssrc) || this.#closed) return;
    if (this.#tracks.size >= maxTracks) throw new Error(`At most ${maxTracks} tracks can be mixed`);
    this.#tracks.set(ssrc, new AudioReceiver('opus'));
  }

  /** Idempotent. */
  removeTrack(ssrc: number): void {
    this.#tracks.get(ssrc)?.close();
    this.#tracks.delete(ssrc);
  }

  async open(_callId: string, listener: SessionListener): Promise<Call> {
    const socket = await this.#ports.bind(this.#options.ip);
    if (this.#closed) {
      socket.close();
      throw new Error('The audio of this component has ended');
    }
    const call = new Call({
      socket,
      listener,
      silence: this.#options.silence ?? defaultSilence,
      allowPrivate: this.#options.allowPrivate,
      ssrc: randomInt(1, 2 ** 32),
      now: () => this.#ticker.now,
      sendToRoom: (packet) => sendUdp(this.#room, packet, this.#roomAddress),
      onClosed: (closed) => this.#forget(closed),
    });
    this.#calls.add(call);
    this.#ticker.start();
    return call;
  }

  /** Ends the audio of all calls. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#calls].map((call) => call.close()));
    for (const ssrc of [...this.#tracks.keys()]) this.removeTrack(ssrc);
    this.#room.close();
  }

  #handle(packet: Buffer): void {
    // No call needs the audio.
    if (!this.#ticker.runs || isRtcp(packet)) return;
    const rtp = parseRtp(packet);
    const track = rtp && this.#tracks.get(rtp.ssrc);
    if (!track) return;
    const done = this.#options.mark?.(rtp.ssrc);
    track.push(rtp, this.#ticker.now);
    done?.();
  }

  #forget(call: Call): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#ticker.stop();
  }

  #run(number: number): void {
    const from = number * frameSamples;
    const sum = this.#sum.fill(0);
    for (const [ssrc, track] of this.#tracks) {
      const done = this.#options.mark?.(ssrc);
      const isHeard = track.read(from, this.#block);
      done?.();
      if (!isHeard) continue;
      for (let index = 0; index < frameSamples; index += 1) sum[index] = (sum[index] as number) + (this.#block[index] as number);
    }
    for (const call of this.#calls) call.hear(from, sum);
    const time = Date.now();
    for (const call of this.#calls) call.speak(number, sum, time);
  }
}
