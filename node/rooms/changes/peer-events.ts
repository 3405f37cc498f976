// Peer events: changes of a room as its connected peers get them.
import type { PeerEvent, Target } from '../../../api/socket/peer-events.ts';
import type { Track } from '../track.ts';
import { type ChangedBy, type Projection, project, publishingPeerOf, type RoomChange } from './room-change.ts';

export type TargetedEvent = { event: PeerEvent; target: Target };

const everyone: Target = {};
const others = (peerId: string | null | undefined): Target => (typeof peerId === 'string' ? { except: peerId } : everyone);
/** Other peers do not see a hidden one. */
const othersIfVisible = (peerId: string, hidden: boolean): Target => (hidden ? { to: [] } : others(peerId));
/** A peer is notified of what the backend changed. */
function profileObservers(peerId: string, { hidden, by }: { hidden: boolean; by: ChangedBy }): Target {
  if (by === 'publisher') return othersIfVisible(peerId, hidden);
  return hidden ? { to: [peerId] } : everyone;
}
/** The publisher gets no event about what it did itself. */
const observers = (track: Track, by: ChangedBy): Target => (by === 'publisher' ? others(publishingPeerOf(track)) : everyone);

const peerEvents: Projection<TargetedEvent> = {
  roomCreated: null,
  roomDeleted: null,
  roomCrashed: null,
  roomMetadataUpdated: ({ metadata }) => ({ event: { event: 'roomMetadataUpdated', data: { metadata } }, target: everyone }),
  activeSpeakerChanged: ({ peerId }) => ({ event: { event: 'activeSpeaker', data: { peerId } }, target: everyone }),
  dataSent: ({ from, label, payload, to }) => ({
    event: { event: 'data', data: { from, label, payload } },
    target: { ...others(from), ...(to && { to }) },
  }),
  peerAdded: null,
  peerWaiting: null,
  peerWaitingEnded: null,
  peerConnected: ({ peer, hidden }) => ({ event: { event: 'peerJoined', data: { peer } }, target: othersIfVisible(peer.id, hidden) }),
  peerDisconnected: ({ peerId, hidden }) => ({ event: { event: 'peerLeft', data: { peerId } }, target: othersIfVisible(peerId, hidden) }),
  peerDeleted: null,
  peerCrashed: null,
  peerMetadataUpdated: ({ peerId, metadata, ...how }) => ({
    event: { event: 'peerMetadataUpdated', data: { peerId, metadata } },
    target: profileObservers(peerId, how),
  }),
  peerAttributesUpdated: ({ peerId, attributes, ...how }) => ({
    event: { event: 'peerAttributesUpdated', data: { peerId, attributes } },
    target: profileObservers(peerId, how),
  }),
  permissionsUpdated: ({ peerId, permissions }) => ({
    event: { event: 'permissionsUpdated', data: { permissions } },
    target: { to: [peerId] },
  }),
  trackAdded: ({ track }) => ({
    event: { event: 'trackAdded', data: { ...track.origin, track: track.remoteView() } },
    target: others(publishingPeerOf(track)),
  }),
  trackRemoved: ({ track, by }) => ({
    event: { event: 'trackRemoved', data: { ...track.origin, trackId: track.id } },
    target: observers(track, by),
  }),
  trackPaused: ({ track, by }) => ({ event: { event: 'trackPaused', data: { trackId: track.id, by } }, target: observers(track, by) }),
  trackResumed: ({ track, by }) => ({ event: { event: 'trackResumed', data: { trackId: track.id, by } }, target: observers(track, by) }),
  trackInterrupted: null,
  trackRestored: null,
  trackBackupAdded: null,
  trackSucceeded: null,
  trackMetadataUpdated: ({ peerId, track: { id, metadata } }) => ({
    event: { event: 'trackMetadataUpdated', data: { trackId: id, metadata } },
    target: others(peerId),
  }),
  receiversChanged: null,
  dataTrackAdded: null,
  dataTrackRemoved: null,
  componentAdded: ({ component }) => ({ event: { event: 'componentAdded', data: { component } }, target: everyone }),
  componentStarted: ({ componentId }) => ({
    event: { event: 'componentUpdated', data: { componentId, state: 'running' } },
    target: everyone,
  }),
  componentRemoved: ({ componentId }) => componentRemoved(componentId),
  componentCrashed: ({ componentId }) => componentRemoved(componentId),
  componentLost: ({ componentId }) => componentRemoved(componentId),
  transcriptAdded: ({ peerId, transcript, to }) => ({
    event: { event: 'transcriptAdded', data: { from: peerId, transcript } },
    target: { ...others(peerId), ...(to && { to }) },
  }),
  backendEvent: null,
};

export function peerEventOf(change: RoomChange): TargetedEvent | undefined {
  return project(peerEvents, change);
}

function componentRemoved(componentId: string): TargetedEvent {
  return { event: { event: 'componentRemoved', data: { componentId } }, target: everyone };
}
