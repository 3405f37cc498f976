// Peer: a participant of a room, connected, waiting to be admitted, or disconnected, with its metadata and permissions.
import { ServiceError } from '../../../api/errors.ts';
import type { Attributes, PeerStatus, PeerView, Permissions } from '../../../api/peer.ts';
import type { RemotePeer } from '../../../api/socket/peer-events.ts';
import type { TrackView } from '../../../api/track.ts';
import type { Span } from '../../../tracing/spans.ts';
import type { Log } from '../../common/log.ts';
import type { RoomChange } from '../changes/room-change.ts';
import type { CloseReason, PeerConnection, PeerMedia, WireObject } from '../interfaces.ts';
import { Admission } from './admission.ts';
import { DataBudget } from './data-budget.ts';
import { DisconnectTimeout } from './disconnect-timeout.ts';
import { traceFirstFrames } from './first-frames.ts';
import { Moderation } from './moderation.ts';
import type { PeerContext, Present } from './peer-context.ts';
import { PeerProfile, type PeerProfileInit } from './profile.ts';
import { PeerRights, type PeerRightsInit } from './rights.ts';
import { RoomSession } from './room-session.ts';

export type PeerInit = {
  id: string;
  externalId: string | null;
  enableSimulcast: boolean;
} & PeerRightsInit &
  PeerProfileInit;
export type ConnectOptions = {
  /** Ends the connection that the peer has. Its client is notified of the takeover. */
  takeover?: boolean;
  /** Span of its join, if that is traced. */
  span?: Span | undefined;
};
/** What a peer needs to know when it joins. */
type Joined = Present & { permissions: Permissions; attributes?: Attributes };
/** What a peer needs to know when it connects. A peer that waits gets nothing of the room. */
export type Welcome = Joined & { incarnation: string; rtpCapabilities: WireObject; waiting?: true };
const nothing: Present = { roomMetadata: null, peers: [], components: [], activeSpeaker: null };

export class Peer {
  readonly id: string;
  readonly roomId: string;
  readonly externalId: string | null;
  /** Mutes and removals of its tracks, also of those that ended. */
  readonly moderation = new Moderation();
  readonly timeout: DisconnectTimeout;
  readonly admission: Admission;
  readonly rights: PeerRights;
  readonly profile: PeerProfile;
  readonly #room: PeerContext;
  readonly #log: Log;
  readonly #enableSimulcast: boolean;
  readonly #dataBudget: DataBudget;
  #session: RoomSession | undefined;
  #removed = false;

  constructor(init: PeerInit, room: PeerContext) {
    this.id = init.id;
    this.roomId = room.roomId;
    this.externalId = init.externalId;
    this.rights = new PeerRights(init, (permissions) => this.#permissionsChanged(permissions));
    // Other peers see only connected ones.
    const about = () => ({ peerId: init.id, hidden: init.hidden || !this.connected });
    this.profile = new PeerProfile(init, {
      metadataChanged: (metadata, by) => room.announce({ kind: 'peerMetadataUpdated', ...about(), metadata, by }),
      attributesChanged: (attributes, by) => room.announce({ kind: 'peerAttributesUpdated', ...about(), attributes, by }),
    });
    this.admission = new Admission({
      automatic: room.automaticAdmission,
      join: (connection, span) => {
        this.#waitingEnded('admitted');
        this.#join(connection, span);
        connection.send({ event: 'admitted', data: this.#joined() });
      },
    });
    this.#enableSimulcast = init.enableSimulcast;
    this.#room = room;
    this.#log = room.log.child({ peer: init.id });
    this.#dataBudget = DataBudget.ofPeer(room.dataMaxBytes);
    this.timeout = new DisconnectTimeout({
      timeout: room.disconnectedTimeout,
      waiting: () => !this.#removed && statusOf(this) === 'disconnected',
      expired: () => this.remove('timeout'),
    });
    this.timeout.restart();
  }

  get connected(): boolean {
    return this.#session !== undefined;
  }

  /** What it does while it is connected. @throws ServiceError `peer_not_found` */
  get session(): RoomSession {
    if (!this.#session) throw new ServiceError('peer_not_found', `Peer ${this.id} is not connected`);
    return this.#session;
  }

  view(): PeerView {
    return {
      id: this.id,
      type: 'webrtc',
      externalId: this.externalId,
      status: statusOf(this),
      metadata: this.profile.metadata,
      attributes: this.profile.attributes,
      permissions: this.rights.permissions,
      hidden: this.rights.hidden,
      admitted: this.admission.permitted,
      tracks: this.#trackViews(),
    };
  }

  remoteView(): RemotePeer {
    return { id: this.id, metadata: this.profile.metadata, ...shownAttributes(this.profile), tracks: this.#trackViews() };
  }

  async welcome(): Promise<Welcome> {
    const rtpCapabilities = await this.#room.media.rtpCapabilities();
    const { incarnation } = this.#room;
    const withheld = this.admission.waiting ? { ...nothing, waiting: true as const } : {};
    return { incarnation, rtpCapabilities, ...this.#joined(), ...withheld };
  }

  /** Joins the room, or waits to be admitted. @throws ServiceError `conflict` if the peer is already connected, unless it is taken over */
  connect(connection: PeerConnection, { takeover = false, span }: ConnectOptions = {}): void {
    if (this.#removed) throw new ServiceError('peer_not_found', `Peer ${this.id} does not exist`);
    if (statusOf(this) !== 'disconnected' && !takeover) throw new ServiceError('conflict', `Peer ${this.id} is already connected`);
    this.#endConnection('disconnected')('takenOver');
    this.timeout.stop();
    if (this.admission.enter(connection, span)) {
      try {
        this.#join(connection, span);
      } catch (error) {
        // The media of the room is interrupted.
        this.timeout.restart();
        throw error;
      }
      return;
    }
    this.#log.info('peer waiting for admission');
    this.#room.announce({ kind: 'peerWaiting', peerId: this.id, metadata: this.profile.metadata });
  }

  #join(connection: PeerConnection, span: Span | undefined): void {
    this.#session = new RoomSession(
      connection,
      {
        peerId: this.id,
        log: this.#log,
        enableSimulcast: this.#enableSimulcast,
        permissions: () => this.rights.permissions,
        moderation: this.moderation,
        dataBudget: this.#dataBudget,
        failed: (reason) => this.crash(reason),
        mediaLost: () => this.#mediaLost(),
        firstFrame: span && traceFirstFrames(span),
      },
      this.#room,
    );
    this.#log.info('peer connected');
    this.#room.announce({ kind: 'peerConnected', peer: this.remoteView(), hidden: this.rights.hidden });
  }

  /** Separate media for a connectivity check, invisible to the room. The caller closes it. */
  openCheck(): PeerMedia {
    if (this.#removed) throw new ServiceError('peer_not_found', `Peer ${this.id} does not exist`);
    return this.#room.media.openPeer(this.id, { layersChanged: () => {}, failed: () => {} });
  }

  /** The connection is lost permanently: tracks end, the peer stays. `since`: milliseconds since its socket was lost. Idempotent. */
  disconnect(since = 0): void {
    if (statusOf(this) === 'disconnected') return;
    this.#endConnection('disconnected');
    this.timeout.restart(since);
  }

  /** Removes the peer from its room. `reason` is part of PeerDeleted, `closeReason` is sent to the peer. Idempotent. */
  remove(reason: string, closeReason: CloseReason = 'peerRemoved'): void {
    this.#leave(reason, closeReason, { kind: 'peerDeleted', peerId: this.id, reason });
  }

  /** The session of the peer failed permanently. */
  crash(reason: string): void {
    this.#log.error({ reason }, 'peer crashed');
    this.#leave('crashed', 'internalError', { kind: 'peerCrashed', peerId: this.id, reason });
  }

  /** The room crashed: the connection ends with PeerDisconnected, followed by RoomCrashed only. */
  roomCrashed(): void {
    this.#leave('room_crashed', 'internalError');
  }

  /** The disconnect timeout of the room changed. */
  timeoutChanged(): void {
    (this.#session?.connection ?? this.admission.waiting)?.pongTimeoutChanged();
    this.timeout.restart();
  }

  /** The client has to join again. */
  #mediaLost(): void {
    this.#endConnection('disconnected')('mediaLost');
    this.timeout.restart();
  }

  #permissionsChanged(permissions: Permissions): void {
    this.#room.announce({ kind: 'permissionsUpdated', peerId: this.id, permissions });
    this.#session?.publications.enforce(permissions);
    this.#session?.subscriptions.update();
  }

  #trackViews(): TrackView[] {
    return [...(this.#session?.publications.tracks ?? [])].map((track) => track.view());
  }

  #joined(): Joined {
    return { permissions: this.rights.permissions, ...shownAttributes(this.profile), ...this.#room.present(this.id) };
  }

  #waitingEnded(reason: string): void {
    this.#log.info({ reason }, 'peer stopped waiting');
    this.#room.announce({ kind: 'peerWaitingEnded', peerId: this.id, reason });
  }

  /** Ends the session or the wait. @returns a function that closes its connection */
  #endConnection(reason: string): (closeReason: CloseReason) => void {
    const waiting = this.admission.stop();
    if (waiting) this.#waitingEnded(reason);
    const session = this.#session;
    if (!session) return (closeReason) => waiting?.close(closeReason);
    session.end();
    this.#session = undefined;
    this.#log.info('peer disconnected');
    this.#room.announce({ kind: 'peerDisconnected', peerId: this.id, hidden: this.rights.hidden });
    return (closeReason) => session.connection.close(closeReason);
  }

  /** `reason`: why a wait ends. */
  #leave(reason: string, closeReason: CloseReason, change?: RoomChange): void {
    if (this.#removed) return;
    this.#removed = true;
    this.timeout.stop();
    this.profile.stop();
    const close = this.#endConnection(reason);
    if (change) this.#room.announce(change);
    this.#room.forget(this.id);
    close(closeReason);
  }
}

export type PeerPresence = Pick<Peer, 'connected'> & { readonly admission: Pick<Admission, 'waiting'> };

export function statusOf({ connected, admission }: PeerPresence): PeerStatus {
  if (connected) return 'connected';
  return admission.waiting ? 'waiting' : 'disconnected';
}

/** On the wire, attributes are omitted if there are none. */
function shownAttributes({ attributes }: PeerProfile): { attributes?: Attributes } {
  return Object.keys(attributes).length > 0 ? { attributes } : {};
}
