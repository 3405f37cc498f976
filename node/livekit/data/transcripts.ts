// Transcripts of agents: final segments in text streams, and in packets of older agents.
import type { DataPacket } from '@livekit/protocol';
import { type Transcript, transcriptSchema } from '../../../api/events.ts';
import type { CompleteText } from './text-streams.ts';

const topic = 'lk.transcription';
const attribute = { id: 'lk.segment_id', final: 'lk.transcription_final', track: 'lk.transcribed_track_id' };

export type Speech = {
  packet: DataPacket;
  /** The text stream that ends with the packet. */
  text: CompleteText | undefined;
  /** Peers by identity and tracks by SID; undefined if they are not in the room. */
  peerOf: (identity: string) => string | undefined;
  trackOf: (sid: string) => string | undefined;
  /** The agent. */
  self: string;
};

/** Those that a packet completes. */
export function transcriptsOf({ packet, text, peerOf, trackOf, self }: Speech): Transcript[] {
  const { value, participantIdentity } = packet;
  if (value.case === 'transcription') {
    const { transcribedParticipantIdentity: speaker, trackId, segments } = value.value;
    const common = { speakerId: peerOf(speaker) ?? self, ...named({ trackId: trackOf(trackId) }) };
    const final = segments.filter((segment) => segment.final);
    return valid(final.map(({ id, text: said, language }) => ({ id, text: said, ...common, ...named({ language }) })));
  }
  if (text?.topic !== topic || text.attributes[attribute.final] !== 'true') return [];
  const trackId = trackOf(text.attributes[attribute.track] ?? '');
  const id = text.attributes[attribute.id] ?? '';
  const speakerId = peerOf(participantIdentity) ?? self;
  return valid([{ id, speakerId, ...named({ trackId }), text: new TextDecoder().decode(text.bytes) }]);
}

/** The fields that are set. */
function named(fields: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
}

function valid(transcripts: readonly object[]): Transcript[] {
  return transcripts.flatMap((transcript) => transcriptSchema.safeParse(transcript).data ?? []).filter(({ text }) => text !== '');
}
