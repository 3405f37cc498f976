// Programme streams: the fixed streams of one player that plays the programme of the room, one of audio and one of video.
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { RoomSession } from '../rooms/peers/room-session.ts';
import { isRtx, type RtpCapabilities } from '../sdp/codecs.ts';
import { changes, type FixedStreams } from './player-streams.ts';

type Streams = FixedStreams & { room: Pick<RoomSession, 'programme' | 'watchProgramme'> };

export class ProgrammeStreams {
  #streams: Streams | undefined;
  #stop: (() => void) | undefined;

  /** Starts the streams. */
  open(streams: Streams): void {
    this.#streams = streams;
    this.#stop = streams.room.watchProgramme(() => this.update());
    this.update();
  }

  /** An event of the room, as peers get it. */
  notify({ event }: PeerEvent): void {
    if (changes.has(event)) this.update();
  }

  /** Plays what is sent, and what the peer may receive now. */
  update(): void {
    if (!this.#streams) return;
    const { room, audio, video } = this.#streams;
    const tracks = room.programme;
    for (const stream of audio) stream.show(tracks?.audio);
    video?.show(tracks?.video);
  }

  close(): void {
    this.#stop?.();
    this.#streams = undefined;
  }
}

/** Codecs of the programme, of those of the room: Opus, and H.264 with the profile of the composer. */
export function programmeCapabilities({ codecs = [], ...capabilities }: RtpCapabilities): RtpCapabilities {
  const media = codecs.filter(({ mimeType, parameters = {} }) => {
    if (!/\/h264$/i.test(mimeType)) return /^audio\//i.test(mimeType);
    return parameters['packetization-mode'] === 1 && String(parameters['profile-level-id']).startsWith('4d');
  });
  const repairs = codecs.filter(
    (codec) => isRtx(codec) && media.some(({ preferredPayloadType }) => preferredPayloadType === codec.parameters?.apt),
  );
  return { ...capabilities, codecs: [...media, ...repairs] };
}
