// UpdateParticipant of LiveKit's server API as a change of a peer.
import { type ParticipantPermission, TrackSource, type UpdateParticipantRequest } from '@livekit/protocol';
import type { PeerPatch, PeerView } from '../../../api/peer.ts';
import type { Kind } from '../../../api/track.ts';
import { attributesPatchOf, metadataOf, namesOf } from '../participants.ts';

/** As in LiveKit, empty texts change nothing, and an attribute that is set to an empty text is deleted. */
export function peerPatchOf(
  { metadata: current }: Pick<PeerView, 'metadata'>,
  { name, metadata, attributes, permission }: UpdateParticipantRequest,
): PeerPatch {
  const old = namesOf(current);
  return {
    ...(metadata !== '' ? { metadata: metadataOf({ name: name || old.name, metadata }) } : name !== '' && { name }),
    ...(Object.keys(attributes).length > 0 && { attributes: attributesPatchOf(attributes) }),
    ...(permission && { permissions: permissionsOf(permission) }),
  };
}

const kinds: Partial<Record<TrackSource, Kind>> = {
  [TrackSource.CAMERA]: 'video',
  [TrackSource.SCREEN_SHARE]: 'video',
  [TrackSource.MICROPHONE]: 'audio',
  [TrackSource.SCREEN_SHARE_AUDIO]: 'audio',
};

function permissionsOf({ canPublish, canPublishSources, canSubscribe, canPublishData }: ParticipantPermission) {
  const permitted: Kind[] = canPublishSources.length > 0 ? canPublishSources.flatMap((source) => kinds[source] ?? []) : ['audio', 'video'];
  return { publish: canPublish ? [...new Set(permitted)] : [], subscribe: canSubscribe, data: canPublishData };
}
