// UpdateParticipant of LiveKit's server API as a change of a peer.
import type { ParticipantPermission, UpdateParticipantRequest } from '@livekit/protocol';
import type { PeerPatch, PeerView, PermissionsPatch } from '../../../api/peer.ts';
import { attributesPatchOf, kindOfSource, metadataOf, namesOf, sourceName } from '../participants.ts';

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

/** No sources are all. Sources that the server does not know are none. */
function permissionsOf({ canPublish, canPublishSources, canSubscribe, canPublishData }: ParticipantPermission): PermissionsPatch {
  const named = canPublishSources.length > 0 ? [...new Set(canPublishSources.flatMap((source) => sourceName(source) ?? []))] : undefined;
  const permitted = named ? [...new Set(named.map((source) => kindOfSource[source]))] : (['audio', 'video'] as const);
  const publish = canPublish ? [...permitted] : [];
  return { publish, publishSources: named && named.length > 0 ? named : null, subscribe: canSubscribe, data: canPublishData };
}
