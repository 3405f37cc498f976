// Server events: changes of a room as sockets of backends and webhooks get them, numbered in order.
import type { RoomEvent, RoomEventDetail, RoomEventListener } from '../../../api/events.ts';
import { type Projection, project, type RoomChange } from './room-change.ts';

const serverEvents: Projection<RoomEventDetail> = {
  roomCreated: () => ({ type: 'RoomCreated' }),
  roomDeleted: ({ reason }) => ({ type: 'RoomDeleted', reason }),
  roomCrashed: ({ reason }) => ({ type: 'RoomCrashed', reason }),
  roomMetadataUpdated: ({ metadata }) => ({ type: 'RoomMetadataUpdated', metadata }),
  activeSpeakerChanged: null,
  dataSent: null,
  peerAdded: ({ peerId, metadata }) => ({ type: 'PeerAdded', peerId, metadata }),
  peerWaiting: ({ peerId, metadata }) => ({ type: 'PeerWaiting', peerId, metadata }),
  peerWaitingEnded: ({ peerId, reason }) => ({ type: 'PeerWaitingEnded', peerId, reason }),
  peerConnected: ({ peer }) => ({ type: 'PeerConnected', peerId: peer.id }),
  peerDisconnected: ({ peerId }) => ({ type: 'PeerDisconnected', peerId }),
  peerDeleted: ({ peerId, reason }) => ({ type: 'PeerDeleted', peerId, reason }),
  peerCrashed: ({ peerId, reason }) => ({ type: 'PeerCrashed', peerId, reason }),
  peerMetadataUpdated: ({ peerId, metadata }) => ({ type: 'PeerMetadataUpdated', peerId, metadata }),
  peerAttributesUpdated: ({ peerId, attributes }) => ({ type: 'PeerAttributesUpdated', peerId, attributes }),
  permissionsUpdated: null,
  trackAdded: ({ track }) => ({ type: 'TrackAdded', ...track.origin, track: track.view() }),
  trackRemoved: ({ track }) => ({ type: 'TrackRemoved', ...track.origin, track: track.view() }),
  trackPaused: null,
  trackResumed: null,
  trackInterrupted: null,
  trackRestored: null,
  trackBackupAdded: null,
  trackSucceeded: null,
  trackMetadataUpdated: ({ peerId, track }) => ({ type: 'TrackMetadataUpdated', peerId, track: track.view(), metadata: track.metadata }),
  receiversChanged: null,
  dataTrackAdded: null,
  dataTrackRemoved: null,
  componentAdded: ({ component }) => ({ type: 'ComponentAdded', componentId: component.id }),
  componentStarted: null,
  componentRemoved: ({ componentId, reason }) => ({ type: 'ComponentRemoved', componentId, reason }),
  componentCrashed: ({ componentId, reason }) => ({ type: 'ComponentCrashed', componentId, reason }),
  componentLost: null,
  transcriptAdded: ({ peerId, transcript }) => ({ type: 'TranscriptAdded', peerId, transcript }),
  backendEvent: ({ event }) => event,
};

export function serverEventOf(change: RoomChange): RoomEventDetail | undefined {
  return project(serverEvents, change);
}

export type ServerEventsOptions = { node: string; incarnation: string; roomId: string; onEvent: RoomEventListener };

export class ServerEvents {
  readonly #options: ServerEventsOptions;
  #seq = 0;

  constructor(options: ServerEventsOptions) {
    this.#options = options;
  }

  emit(change: RoomChange): void {
    const detail = serverEventOf(change);
    if (!detail) return;
    const { node, incarnation, roomId, onEvent } = this.#options;
    this.#seq += 1;
    const event: RoomEvent = {
      id: `${incarnation}-${this.#seq}`,
      time: new Date().toISOString(),
      seq: this.#seq,
      node,
      incarnation,
      roomId,
      ...detail,
    };
    onEvent(event);
  }
}
