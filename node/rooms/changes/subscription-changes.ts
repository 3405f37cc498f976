// Subscription changes: changes of a room as its receivers apply them to their subscriptions.
import type { Target } from '../../../api/socket/peer-events.ts';
import type { Track } from '../track.ts';
import { publishingPeerOf, type RoomChange } from './room-change.ts';

type Subscriptions = {
  update(): void;
  restored(track: Track): void;
  succeeded(track: Track): void;
  drop(trackId: string): void;
};
type Session = {
  subscriptions: Subscriptions;
  paths: { data: { drop(dataTrackId: string): void } };
  connection: { trackRestored?: (() => void) | undefined };
  receiversChanged(publisherId: string): void;
};
export type ReceivingPeers = { selectedBy(target: Target): Iterable<{ session: Session }> };
export type ReceivingComponents = { updateReceived(): void };

export function updateSubscriptions(change: RoomChange, peers: ReceivingPeers, components: ReceivingComponents): void {
  switch (change.kind) {
    case 'trackAdded':
      components.updateReceived();
      for (const subscriptions of othersThan(publishingPeerOf(change.track), peers)) subscriptions.update();
      break;
    case 'trackRemoved':
      components.updateReceived();
      for (const subscriptions of othersThan(publishingPeerOf(change.track), peers)) subscriptions.drop(change.track.id);
      break;
    case 'trackInterrupted':
      components.updateReceived();
      break;
    case 'trackRestored':
      components.updateReceived();
      for (const session of sessionsWithout(publishingPeerOf(change.track), peers)) {
        session.subscriptions.restored(change.track);
        session.connection.trackRestored?.();
      }
      break;
    case 'trackBackupAdded':
      for (const session of sessionsWithout(publishingPeerOf(change.track), peers)) {
        session.subscriptions.update();
        session.connection.trackRestored?.();
      }
      break;
    case 'trackSucceeded':
      for (const session of sessionsWithout(publishingPeerOf(change.track), peers)) {
        session.subscriptions.succeeded(change.track);
        session.connection.trackRestored?.();
      }
      break;
    case 'receiversChanged':
      for (const { session } of peers.selectedBy({ except: change.peerId })) session.receiversChanged(change.peerId);
      break;
    case 'dataTrackAdded':
      for (const subscriptions of othersThan(change.dataTrack.peerId, peers)) subscriptions.update();
      break;
    case 'dataTrackRemoved':
      for (const { paths } of sessionsWithout(change.dataTrack.peerId, peers)) paths.data.drop(change.dataTrack.id);
      break;
    default:
  }
}

function* othersThan(peerId: string | undefined, peers: ReceivingPeers): Iterable<Subscriptions> {
  for (const { subscriptions } of sessionsWithout(peerId, peers)) yield subscriptions;
}

function* sessionsWithout(peerId: string | undefined, peers: ReceivingPeers): Iterable<Session> {
  for (const { session } of peers.selectedBy(peerId === undefined ? {} : { except: peerId })) yield session;
}
