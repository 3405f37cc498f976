// All sound of one sip component: the room's tracks come in over one socket, each call hears all but itself, and is heard in the room.
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { isRtcp, parseRtp } from '../../rtp/rtp-reader.ts';
import { frameSamples } from './audio-format.ts';
import { AudioReceiver } from './audio-receiver.ts';
import { Call } from './call.ts';
import type { CallAudio, SessionListener } from './session.ts';
import { Ticker } from './ticker.ts';
import { bindUdp, PortPool, type PortRange, sendUdp } from './udp.ts';

export type ComponentSoundOptions = {
  /** Where calls' RTP is taken: an address of this host, or that of all of them. */
  ip: string;
  /** Ports of calls; undefined: the system chooses. */
  ports: PortRange | undefined;
  /** Port of the loopback address for the room's side; the system chooses where it is left out. */
  roomPort?: number;
  /** Milliseconds without a packet after which a far side is taken for gone; 0: never. */
  silence?: number;
  /** Whether calls may go to private addresses. */
  allowPrivate: boolean;
  /** Work on a track of the room begins; what it returns ends it. */
  mark?: (ssrc: number) => () => void;
};

const defaultSilence = 30_000;
const loopback = '127.0.0.1';
/** Tracks of the room that are heard at once. */
const maxTracks = 500;

export class ComponentAudio implements CallAudio {
  readonly #options: ComponentSoundOptions;
  readonly #room: Socket;
  readonly #ports: PortPool;
  readonly #ticker: Ticker;
  readonly #tracks = new Map<number, AudioReceiver>();
  readonly #calls = new Set<Call>();
  readonly #sum = new Float32Array(frameSamples);
  readonly #block = new Float32Array(frameSamples);
  #roomAddress: { ip: string; port: number } | undefined;
  #closed = false;

  private constructor(options: ComponentSoundOptions, room: Socket) {
    this.#options = options;
    this.#room = room;
    this.#ports = new PortPool(options.ports);
    this.#ticker = new Ticker((number) => this.#run(number));
    room.on('message', (packet) => this.#hear(packet));
  }

  /** @throws Error where `roomPort` is taken */
  static async open(options: ComponentSoundOptions): Promise<ComponentAudio> {
    return new ComponentAudio(options, await bindUdp(loopback, options.roomPort ?? 0));
  }

  /** Port on the loopback address: the room sends here, and takes what comes from here. */
  get port(): number {
    return this.#room.address().port;
  }

  /** Where the room takes the voices of calls. */
  connect(address: { ip: string; port: number }): void {
    this.#roomAddress = address;
  }

  /** A track of the room, Opus, heard by all calls from here; not one of this component's own. Idempotent. @throws AvError, Error where there are too many */
  addTrack(ssrc: number): void {
    if (this.#tracks.has(ssrc) || this.#closed) return;
    if (this.#tracks.size >= maxTracks) throw new Error(`No more than ${maxTracks} tracks can be heard`);
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
      throw new Error('The sound of this component has ended');
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

  /** Ends all calls' sound. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#calls].map((call) => call.close()));
    for (const ssrc of [...this.#tracks.keys()]) this.removeTrack(ssrc);
    this.#room.close();
  }

  #hear(packet: Buffer): void {
    // Nobody listens.
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
