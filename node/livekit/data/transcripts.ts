// Transcripts of agents: final segments in text streams, and in packets of older agents.
import type { DataPacket } from '@livekit/protocol';
import { type Transcript, transcriptSchema } from '../../../api/events.ts';
import type { CompleteStream } from './data-streams.ts';

const topic = 'lk.transcription';
const attribute = { id: 'lk.segment_id', final: 'lk.transcription_final', track: 'lk.transcribed_track_id' };

export type Speech = {
  packet: DataPacket;
  /** That ends with the packet. */
  stream: CompleteStream | undefined;
  /** Peers by identity and tracks by SID; undefined if they are not in the room. */
  peerOf: (identity: string) => string | undefined;
  trackOf: (sid: string) => string | undefined;
  /** The agent. */
  self: string;
};

/** Those that a packet completes. */
export function transcriptsOf({ packet, stream, peerOf, trackOf, self }: Speech): Transcript[] {
  const { value, participantIdentity } = packet;
  if (value.case === 'transcription') {
    const { transcribedParticipantIdentity: speaker, trackId, segments } = value.value;
    const common = { speakerId: peerOf(speaker) ?? self, ...named({ trackId: trackOf(trackId) }) };
    const final = segments.filter((segment) => segment.final);
    return valid(final.map(({ id, text: said, language }) => ({ id, text: said, ...common, ...named({ language }) })));
  }
  if (stream?.topic !== topic || stream.file || stream.attributes[attribute.final] !== 'true') return [];
  const trackId = trackOf(stream.attributes[attribute.track] ?? '');
  const id = stream.attributes[attribute.id] ?? '';
  const speakerId = peerOf(participantIdentity) ?? self;
  return valid([{ id, speakerId, ...named({ trackId }), text: new TextDecoder().decode(stream.bytes) }]);
}

/** The fields that are set. */
function named(fields: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
}

function valid(transcripts: readonly object[]): Transcript[] {
  return transcripts.flatMap((transcript) => transcriptSchema.safeParse(transcript).data ?? []).filter(({ text }) => text !== '');
}
