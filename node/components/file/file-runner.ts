// Runner of a file component: plays one file into a room, once and in real time.
import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { ServiceError } from '../../../api/errors.ts';
import type { ComponentHost, ComponentRunner, WireObject } from '../../rooms/interfaces.ts';
import { MediaFileError } from './file-error.ts';
import { type Clock, play, systemClock } from './player.ts';
import { opusClockRate, readH264Samples, readOpusSamples, videoClockRate } from './samples.ts';

export type MediaFile = {
  /** Undefined if the file no longer exists. */
  open: () => Promise<FileHandle | undefined>;
  /** Frames per second of H.264; null for Opus. */
  framerate: number | null;
};

const loopback = '127.0.0.1';
/** Bytes per read, and maximum read ahead. */
const readAhead = 64 * 1024;
const payloadTypes = { audio: 108, video: 96 } as const;

export class FileRunner implements ComponentRunner {
  /** It ends with its file. */
  readonly busy = 1;
  readonly #file: MediaFile;
  readonly #host: ComponentHost;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #ssrc = randomInt(1, 2 ** 32);
  #socket: Socket | undefined;
  #handle: FileHandle | undefined;
  #playing: Promise<void> | undefined;
  #starting: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(file: MediaFile, host: ComponentHost, clock: Clock = systemClock) {
    this.#file = file;
    this.#host = host;
    this.#clock = clock;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #start(): Promise<void> {
    this.#handle = await this.#file.open();
    if (!this.#handle) throw new ServiceError('not_found', 'File not found');
    this.#assertOpen();
    const socket = createSocket('udp4');
    this.#socket = socket;
    // Errors are only logged: UDP may lose packets, and the end of the room is detected separately.
    socket.on('error', (error) => this.#host.log.debug({ err: error }, 'could not send RTP of media file'));
    socket.bind(0, loopback);
    await once(socket, 'listening');
    this.#assertOpen();
    const { ip, port } = await this.#host.connect({ ip: loopback, port: socket.address().port });
    this.#assertOpen();
    socket.connect(port, ip);
    await once(socket, 'connect');
    this.#assertOpen();
    const kind = this.#file.framerate === null ? 'audio' : 'video';
    await this.#host.publish({ kind, rtpParameters: parametersOf(kind, this.#ssrc), metadata: { source: 'file' } });
    this.#assertOpen();
    this.#playing = this.#play(this.#handle, socket);
  }

  async #play(handle: FileHandle, socket: Socket): Promise<void> {
    const { framerate } = this.#file;
    const { signal } = this.#stop;
    const chunks = handle.createReadStream({ highWaterMark: readAhead, autoClose: false }) as AsyncIterable<Buffer>;
    const samples = framerate === null ? readOpusSamples(chunks) : readH264Samples(chunks, framerate);
    try {
      await play(samples, {
        clock: this.#clock,
        clockRate: framerate === null ? opusClockRate : videoClockRate,
        payloadType: framerate === null ? payloadTypes.audio : payloadTypes.video,
        ssrc: this.#ssrc,
        markLast: framerate !== null,
        send: (packet) => socket.send(packet, () => {}),
        signal,
      });
      if (!signal.aborted) this.#host.finished();
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof MediaFileError)) this.#host.log.warn({ err: error }, 'could not play media file');
      this.#host.crashed(error instanceof MediaFileError ? error.message : 'Could not play the file');
    }
  }

  async #close(): Promise<void> {
    this.#stop.abort();
    await this.#starting?.catch(() => {});
    this.#socket?.close();
    // close() may be called at the end of playing: only closing the file waits for it.
    await this.#playing;
    await this.#handle?.close();
  }

  #assertOpen(): void {
    if (this.#stop.signal.aborted) throw new ServiceError('component_not_found', 'The component was removed');
  }
}

/** RtpSendParameters for the room's media. */
function parametersOf(kind: 'audio' | 'video', ssrc: number): WireObject {
  const payloadType = payloadTypes[kind];
  const codec =
    kind === 'audio'
      ? { mimeType: 'audio/opus', payloadType, clockRate: opusClockRate, channels: 2, parameters: { 'sprop-stereo': 1 } }
      : {
          mimeType: 'video/H264',
          payloadType,
          clockRate: videoClockRate,
          parameters: { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 },
        };
  return { codecs: [{ ...codec, rtcpFeedback: [] }], encodings: [{ ssrc }], headerExtensions: [], rtcp: { cname: String(ssrc) } };
}
