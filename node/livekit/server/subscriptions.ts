// Subscriptions of a participant as LiveKit's server API changes them, at the owning node of its room.
import type { PeerSubscriptions } from '../../../api/operations/livekit-rpcs.ts';
import type { LocalRooms } from '../../rooms/local-rooms.ts';

/** @throws ServiceError `room_not_found`, `peer_not_found`, `track_not_found`, `forbidden`, `conflict` */
export async function updatePeerSubscriptions(
  rooms: Pick<LocalRooms, 'room'>,
  { roomId, peerId, trackIds, subscribe }: PeerSubscriptions,
): Promise<null> {
  const { session } = rooms.room(roomId).peers.get(peerId);
  const { subscriptions } = session;
  for (const trackId of trackIds) {
    if (subscribe) await subscriptions.subscribe(trackId);
    else if (subscriptions.has(trackId)) {
      subscriptions.unsubscribe(trackId);
      session.send({ event: 'trackUnsubscribed', data: { trackId } });
    }
  }
  return null;
}
