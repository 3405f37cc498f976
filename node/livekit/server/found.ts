// What a request of LiveKit's server API names: a room that its token administers, a participant, a track.
import { ServiceError } from '../../../api/errors.ts';
import { operations } from '../../../api/operations/table.ts';
import type { PeerView } from '../../../api/peer.ts';
import type { RoomView } from '../../../api/room.ts';
import type { TrackView } from '../../../api/track.ts';
import { trackSid } from '../ids.ts';
import { type FoundParticipant, participantsOf } from './room-messages.ts';
import type { ServerContext } from './server-method.ts';

/** @throws ServiceError `forbidden`, `room_not_found` and others */
export async function roomOf({ access, operations: runner }: ServerContext, roomId: string): Promise<RoomView> {
  access.requireRoom('roomAdmin', roomId);
  return runner.run(operations.getRoom, { params: { roomId }, body: undefined, query: undefined });
}

/** @throws ServiceError `peer_not_found` */
export function requireParticipant(view: RoomView, identity: string): FoundParticipant {
  const found = participantsOf(view).find(({ participant }) => participant.identity === identity);
  if (!found) throw new ServiceError('peer_not_found', `Participant ${identity} does not exist`);
  return found;
}

/** @throws ServiceError `peer_not_found`, `conflict` for a component */
export function findPeer(view: RoomView, identity: string): PeerView {
  const { peer } = requireParticipant(view, identity);
  if (!peer) throw new ServiceError('conflict', `Participant ${identity} is a component, not a peer`);
  return peer;
}

/** @throws ServiceError `track_not_found` */
export function requireTrack({ participant: { identity, tracks } }: FoundParticipant, sid: string): TrackView {
  const track = tracks.find(({ id }) => trackSid(id) === sid);
  if (!track) throw new ServiceError('track_not_found', `Participant ${identity} has no track ${sid}`);
  return track;
}

/** @throws ServiceError `track_not_found` */
export function trackIdsOf(view: RoomView, sids: readonly string[]): string[] {
  const tracks = new Map(participantsOf(view).flatMap(({ participant }) => participant.tracks.map(({ id }) => [trackSid(id), id])));
  return sids.map((sid) => {
    const id = tracks.get(sid);
    if (id === undefined) throw new ServiceError('track_not_found', `Room ${view.id} has no track ${sid}`);
    return id;
  });
}
