// What the page of a room reads of the server's answers, whole; see /docs of the node.
import type { Component, ComponentType, RoomConfig, RoomEvent } from '../api/shapes.ts';

export type Kind = 'audio' | 'video';
export type TrackDetails = {
  id: string;
  type: Kind;
  metadata: unknown;
  encoding: string | null;
  simulcast: boolean;
  paused: boolean;
  muted: boolean;
};
export type Permissions = { publish: Kind[]; subscribe: boolean; data: boolean };
export type PeerDetails = {
  id: string;
  externalId: string | null;
  status: 'connected' | 'disconnected';
  metadata: unknown;
  permissions: Permissions;
  tracks: TrackDetails[];
};
export type RoomComponent = Component & { type: ComponentType; properties: Record<string, unknown>; tracks: TrackDetails[] };
export type RoomDetails = { id: string; incarnation: string; config: RoomConfig; peers: PeerDetails[]; components: RoomComponent[] };

export type Quality = 'excellent' | 'good' | 'poor' | 'bad' | 'lost' | 'unknown';
type Measured = { bitrate: number; loss: number | null; roundTrip: number | null; jitter: number | null };
export type LinkFigures = Measured & { state: string; protocol: 'udp' | 'tcp' | 'relay' | null; available: number | null };
export type TrackFigures = Measured & { trackId: string; kind: Kind };
export type ReceivedFigures = TrackFigures & { layers: { spatialLayer: number; temporalLayer: number | null } | null };
export type PublishedFigures = TrackFigures & { encodings: { rid: string | null; bitrate: number }[] };
export type PeerStats = {
  id: string;
  quality: Quality;
  up: LinkFigures | null;
  down: LinkFigures | null;
  published: PublishedFigures[];
  received: ReceivedFigures[];
};
export type RoomStats = { time: string; peers: PeerStats[]; components: { id: string; published: PublishedFigures[] }[] };

/** As the notification socket tells it. */
export type LoggedEvent = RoomEvent & { id: string; time: string; node: string; seq?: number; reason?: string; digit?: string };

export type PhoneCall = { id: string; phoneNumber: string; direction: 'outgoing' | 'incoming'; state: 'calling' | 'ringing' | 'active' };

export function callsOf(properties: Record<string, unknown>): PhoneCall[] {
  return Array.isArray(properties.calls) ? (properties.calls as PhoneCall[]) : [];
}
