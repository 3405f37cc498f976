// Programme output of a composer process: sends what it composes to players of the room, while there are any.
import { randomInt } from 'node:crypto';
import { Timer } from '../../common/timer.ts';
import { newId } from '../../rooms/ids.ts';
import type { ComponentHost, RtpIngress, WireObject } from '../../rooms/interfaces.ts';
import { type ProgrammeDestination, programmePayloadTypes } from './composer/composer-messages.ts';

export type ProgrammeOutputOptions = {
  host: Pick<ComponentHost, 'log' | 'openProgramme' | 'programmeChanged'>;
  /** Port of loopback from which the process sends. */
  port: number;
  /** `profile-level-id` (RFC 6184) of its video; undefined if the room forwards no H.264. */
  profile: string | undefined;
  /** Starts or ends sending of the process. */
  send: (destination: ProgrammeDestination | null) => void;
};

const loopback = '127.0.0.1';
/** Delay until a failed start is tried again, in milliseconds. */
const retryDelayMs = 1000;

export class ProgrammeOutput {
  readonly #options: ProgrammeOutputOptions;
  #wanted = false;
  #input: RtpIngress | undefined;
  #changing = false;
  #retry: Timer | undefined;
  #closed = false;

  constructor(options: ProgrammeOutputOptions) {
    this.#options = options;
  }

  /** Starts or stops. Never fails. */
  want(wanted: boolean): void {
    this.#wanted = wanted;
    if (!this.#changing) void this.#change();
  }

  /** The process has ended. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#retry?.stop();
    if (!this.#input) return;
    this.#input.close();
    this.#options.host.programmeChanged(undefined);
  }

  /** One change at a time. */
  async #change(): Promise<void> {
    this.#changing = true;
    this.#retry?.stop();
    try {
      while (!this.#closed && this.#wanted !== (this.#input !== undefined)) {
        if (this.#wanted) await this.#start();
        else {
          this.#stop();
          this.#options.host.log.info('programme stopped');
        }
      }
    } catch (error) {
      if (this.#closed) return;
      this.#stop();
      this.#options.host.log.warn({ err: error }, 'could not send programme');
      this.#retry = new Timer(retryDelayMs, () => this.want(this.#wanted));
    } finally {
      this.#changing = false;
    }
  }

  async #start(): Promise<void> {
    const { host, port, profile, send } = this.#options;
    const input = host.openProgramme();
    this.#input = input;
    const address = await input.connect({ ip: loopback, port });
    const audio = { trackId: newId(), ssrc: randomInt(1, 2 ** 31) };
    const video = profile === undefined ? undefined : { trackId: newId(), ssrc: audio.ssrc + 1 };
    // Its name lets players synchronize the streams.
    const cname = audio.trackId;
    await input.publish({ kind: 'audio', trackId: audio.trackId, rtpParameters: parametersOf(opus, audio.ssrc, cname) });
    if (video)
      await input.publish({ kind: 'video', trackId: video.trackId, rtpParameters: parametersOf(h264(profile), video.ssrc, cname) });
    if (this.#closed) return;
    send({ ...address, audio: audio.ssrc, video: video?.ssrc ?? null });
    host.log.info('programme started');
    host.programmeChanged({ audio: audio.trackId, video: video?.trackId });
  }

  #stop(): void {
    const { host, send } = this.#options;
    this.#input?.close();
    this.#input = undefined;
    send(null);
    host.programmeChanged(undefined);
  }
}

const opus = {
  ...{ mimeType: 'audio/opus', payloadType: programmePayloadTypes.audio, clockRate: 48_000, channels: 2 },
  ...{ parameters: { 'sprop-stereo': 1 }, rtcpFeedback: [] },
};

function h264(profile: string | undefined): WireObject {
  return {
    ...{ mimeType: 'video/H264', payloadType: programmePayloadTypes.video, clockRate: 90_000 },
    parameters: { 'packetization-mode': 1, 'profile-level-id': profile, 'level-asymmetry-allowed': 1 },
    rtcpFeedback: [{ type: 'nack', parameter: 'pli' }],
  };
}

/** RtpSendParameters for the media of the room. */
function parametersOf(codec: WireObject, ssrc: number, cname: string): WireObject {
  return { codecs: [codec], encodings: [{ ssrc }], headerExtensions: [], rtcp: { cname } };
}
