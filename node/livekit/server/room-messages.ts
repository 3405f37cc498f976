// Rooms and participants in the messages of LiveKit's server API.
import { type ParticipantInfo, ParticipantInfo_State, type Room } from '@livekit/protocol';
import type { ComponentView } from '../../../api/component/component.ts';
import type { PeerView } from '../../../api/peer.ts';
import type { RoomConfigView, RoomView } from '../../../api/room.ts';
import { timeOf } from '../../rooms/ids.ts';
import { roomMessage } from '../messages.ts';
import { componentParticipant, type Participant, participantInfo, peerParticipant } from '../participants.ts';

type NamedPeer = Pick<PeerView, 'id' | 'externalId' | 'metadata' | 'attributes' | 'tracks'>;
/** A participant with its peer; undefined for a component, and for a peer of which only the id is known. */
export type FoundParticipant = { participant: Participant; peer: PeerView | undefined };

export function participantsOf({ peers, components }: Pick<RoomView, 'peers' | 'components'>): FoundParticipant[] {
  return [...peers.map(peerOf), ...components.flatMap((component) => componentOf(component) ?? [])];
}

/** A peer has the name that its backend gave it. */
export function peerOf(peer: NamedPeer | PeerView): FoundParticipant {
  return { participant: peerParticipant(peer, peer.externalId ?? peer.id), peer: 'status' in peer ? peer : undefined };
}

/** @returns undefined for recordings and streams */
export function componentOf(component: ComponentView): FoundParticipant | undefined {
  const participant = componentParticipant(component);
  return participant && { participant, peer: undefined };
}

/** As in LiveKit, participants are connected; those that wait join. */
export function isPresent({ peer }: FoundParticipant): boolean {
  return peer === undefined || peer.status !== 'disconnected';
}

export function participantMessage({ participant, peer }: FoundParticipant): ParticipantInfo {
  if (!peer) return participantInfo(participant, 0);
  const message = participantInfo(participant, 0, peer.permissions, peer.hidden);
  message.state = states[peer.status];
  return message;
}

const states: Readonly<Record<PeerView['status'], ParticipantInfo_State>> = {
  connected: ParticipantInfo_State.ACTIVE,
  waiting: ParticipantInfo_State.JOINING,
  disconnected: ParticipantInfo_State.DISCONNECTED,
};

export function roomInfo(view: RoomView): Room {
  const { id: roomId, incarnation, config, components } = view;
  const present = participantsOf(view).filter(isPresent);
  return Object.assign(roomSummary({ roomId, incarnation, config }), {
    activeRecording: components.some((component) => componentOf(component) === undefined),
    numParticipants: present.filter(({ peer }) => peer?.hidden !== true).length,
    numPublishers: present.filter(({ participant }) => participant.tracks.length > 0).length,
  });
}

type SummarizedRoom = {
  roomId: string;
  incarnation: string;
  config: Pick<RoomConfigView, 'maxPeers' | 'peerlessPurgeTimeout' | 'metadata'>;
};

/** Without its participants. */
export function roomSummary({ roomId, incarnation, config }: SummarizedRoom): Room {
  const { metadata, maxPeers, peerlessPurgeTimeout } = config;
  const message = roomMessage({ roomId, incarnation, metadata, participants: 0, recorded: false, capabilities: {} });
  const timeout = peerlessPurgeTimeout ?? 0;
  const createdAt = timeOf(incarnation);
  return Object.assign(message, {
    ...{ emptyTimeout: timeout, departureTimeout: timeout, maxParticipants: maxPeers ?? 0 },
    ...{ creationTime: BigInt(Math.floor(createdAt / 1000)), creationTimeMs: BigInt(createdAt) },
  });
}
