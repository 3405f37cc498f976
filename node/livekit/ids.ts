// SIDs: ids of LiveKit's protocol, whose prefix is the type of what they name. They are derived from ids of the room, so that every client
// gets the same, and short, because some clients limit the ids of media streams to 64 characters.
import { createHash } from 'node:crypto';

type TrackOwner = { trackId: string; peerId?: string | undefined; componentId?: string | undefined };

/** 96 bits. */
const digestLength = 16;

export function participantSid(id: string): string {
  return `PA_${digestOf(id)}`;
}

export function trackSid(trackId: string): string {
  return `TR_${digestOf(trackId)}`;
}

/** `msid` of a received track (RFC 8830): clients read the participant and the track from the id of its stream. */
export function msidOf({ trackId, peerId, componentId }: TrackOwner): { id: string; appdata: string } {
  const sid = trackSid(trackId);
  return { id: `${participantSid(peerId ?? componentId ?? '')}|${sid}`, appdata: sid };
}

export function roomSid(incarnation: string): string {
  return `RM_${digestOf(incarnation)}`;
}

function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, digestLength);
}
