// Webhooks in LiveKit's form: events of their protocol, signed with an access key as their receivers check it.
import { createHash } from 'node:crypto';
import { EgressStatus, RoomEndReason, WebhookEvent } from '@livekit/protocol';
import { SignJWT } from 'jose';
import type { ComponentView } from '../../../api/component/component.ts';
import type { EventType, RoomEvent } from '../../../api/events.ts';
import type { AccessKey } from '../../../api/settings/access-keys.ts';
import type { LocalRooms } from '../../rooms/local-rooms.ts';
import type { WebhookForm } from '../../rooms/services/webhook-form.ts';
import { trackInfo } from '../participants.ts';
import { egressInfo, isEgress } from './egress-messages.ts';
import { componentOf, type FoundParticipant, participantMessage, peerOf, roomSummary } from './room-messages.ts';

export type LiveKitWebhooksOptions = {
  rooms: Pick<LocalRooms, 'find'>;
  keys: () => readonly AccessKey[];
};

/** Seconds. */
const tokenTtl = 300;

/** What is known of a room incarnation: events of something that ended describe how it was. */
type Known = {
  room: ReturnType<typeof roomSummary>;
  /** By id of the peer or component: those that joined. */
  participants: Map<string, FoundParticipant>;
  /** Recordings and streams. */
  outputs: Map<string, ComponentView>;
};
type Names = Partial<Record<EventType, string>>;

const roomEvents: Names = { RoomCreated: 'room_started', RoomDeleted: 'room_finished', RoomCrashed: 'room_finished' };
const participantEvents: Names = {
  PeerConnected: 'participant_joined',
  PeerDisconnected: 'participant_left',
  TrackAdded: 'track_published',
  TrackRemoved: 'track_unpublished',
};
const endReasons: Readonly<Record<string, RoomEndReason>> = {
  deleted: RoomEndReason.ROOM_END_API_DELETE,
  peerless: RoomEndReason.ROOM_END_IDLE_TIMEOUT,
  draining: RoomEndReason.ROOM_END_SERVER_SHUTDOWN,
  shutdown: RoomEndReason.ROOM_END_SERVER_SHUTDOWN,
};

export class LiveKitWebhooks implements WebhookForm {
  readonly #options: LiveKitWebhooksOptions;
  /** By incarnation, of local rooms. */
  readonly #known = new Map<string, Known>();

  constructor(options: LiveKitWebhooksOptions) {
    this.#options = options;
  }

  convert(event: RoomEvent): object | undefined {
    const known = this.#knownOf(event);
    const found = this.#read(event, known);
    const message = messageOf(event, known, found);
    this.#forget(event, known);
    if (!message) return undefined;
    const createdAt = BigInt(Math.floor(Date.parse(event.time) / 1000));
    return new WebhookEvent({ room: roomOf(known), ...message, id: event.id, createdAt }).toJson() as object;
  }

  async headers(body: string): Promise<Record<string, string>> {
    const key = this.#options.keys().find(({ secret }) => secret !== undefined);
    if (key?.secret === undefined) throw new Error('no access key with a secret signs webhooks of LiveKit (SVC_ACCESS_KEYS)');
    const token = await new SignJWT({ sha256: createHash('sha256').update(body).digest('base64') })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(key.id)
      .setNotBefore(new Date())
      .setExpirationTime(`${tokenTtl}s`)
      .sign(new TextEncoder().encode(key.secret));
    return { authorization: token, 'content-type': 'application/webhook+json' };
  }

  /** Reads the room, so that its metadata and limits are current. */
  #knownOf({ roomId, incarnation }: RoomEvent): Known {
    const known = this.#known.get(incarnation);
    const live = this.#options.rooms.find(roomId);
    const isLive = live?.incarnation === incarnation;
    const config = isLive ? live.config : { maxPeers: null, peerlessPurgeTimeout: null, metadata: null };
    const room = isLive || !known ? roomSummary({ roomId, incarnation, config }) : known.room;
    const result = { participants: new Map(), outputs: new Map(), ...known, room };
    if (isLive) this.#known.set(incarnation, result);
    return result;
  }

  /** The participant of an event, as it is or was. */
  #read({ roomId, incarnation, peerId, componentId }: RoomEvent, { participants, outputs }: Known): FoundParticipant | undefined {
    const live = this.#options.rooms.find(roomId);
    const room = live?.incarnation === incarnation ? live : undefined;
    const view = peerId === undefined ? undefined : room?.peers.find(peerId)?.view();
    const component = [...(room?.components.all() ?? [])].find(({ id }) => id === componentId)?.view();
    const found = view ? peerOf(view) : component && componentOf(component);
    if (component && !found) outputs.set(component.id, component);
    return found ?? participants.get(peerId ?? componentId ?? '');
  }

  #forget({ type, incarnation, peerId, componentId }: RoomEvent, { participants, outputs }: Known): void {
    if (type === 'RoomDeleted' || type === 'RoomCrashed') this.#known.delete(incarnation);
    if (type === 'PeerDisconnected') participants.delete(peerId ?? '');
    if (type === 'ComponentRemoved' || type === 'ComponentCrashed') {
      participants.delete(componentId ?? '');
      outputs.delete(componentId ?? '');
    }
  }
}

type Message = ConstructorParameters<typeof WebhookEvent>[0];

function messageOf(event: RoomEvent, known: Known, found: FoundParticipant | undefined): Message | undefined {
  const { type, peerId, componentId, track, reason = '' } = event;
  const ofRoom = roomEvents[type];
  if (ofRoom !== undefined) return { event: ofRoom, roomEndReason: ofRoom === 'room_finished' ? (endReasons[reason] ?? 0) : 0 };
  if (type === 'PeerWaitingEnded' && reason !== 'admitted') return participantEvent('participant_connection_aborted', event, found);
  const isComponentEvent = type === 'ComponentAdded' || type === 'ComponentRemoved' || type === 'ComponentCrashed';
  if (isComponentEvent) return componentEvent(event, known, found);
  const name = participantEvents[type];
  if (name === undefined) return undefined;
  const id = peerId ?? componentId ?? '';
  if (found && type !== 'PeerDisconnected') known.participants.set(id, found);
  return { ...participantEvent(name, event, found), ...(track && { track: trackInfo(track) }) };
}

function participantEvent(name: string, { peerId = '' }: RoomEvent, found: FoundParticipant | undefined): Message {
  const left = peerOf({ id: peerId, externalId: null, metadata: null, attributes: {}, tracks: [] });
  const participant = participantMessage(found ?? left);
  return { event: name, participant };
}

/** Recordings and streams are egresses; other components are participants. */
function componentEvent(event: RoomEvent, known: Known, found: FoundParticipant | undefined): Message | undefined {
  const { type, componentId = '', roomId, incarnation, time, reason = '' } = event;
  const isAdded = type === 'ComponentAdded';
  if (found) {
    if (isAdded) known.participants.set(componentId, found);
    return participantEvent(isAdded ? 'participant_joined' : 'participant_left', event, found);
  }
  const output = known.outputs.get(componentId);
  if (!output || !isEgress(output)) return undefined;
  const ended = type === 'ComponentCrashed' ? EgressStatus.EGRESS_FAILED : EgressStatus.EGRESS_COMPLETE;
  const at = BigInt(Date.parse(time)) * 1_000_000n;
  const info = Object.assign(egressInfo({ roomId, incarnation }, componentId, isAdded ? EgressStatus.EGRESS_ACTIVE : ended), {
    ...{ updatedAt: at, [isAdded ? 'startedAt' : 'endedAt']: at },
    ...(type === 'ComponentCrashed' && { error: reason }),
  });
  return { event: isAdded ? 'egress_started' : 'egress_ended', egressInfo: info };
}

function roomOf({ room, participants, outputs }: Known): Known['room'] {
  const publishers = [...participants.values()].filter(({ participant }) => participant.tracks.length > 0);
  return Object.assign(room.clone(), {
    ...{ numParticipants: participants.size, numPublishers: publishers.length, activeRecording: outputs.size > 0 },
  });
}
