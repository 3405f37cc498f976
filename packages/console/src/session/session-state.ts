// Room session state: participants, tracks and connection as the page shows them.
import type { ReceivedLayers } from '@mediarooms/client';
import type { OutageState } from './outage.ts';

export type Source = 'camera' | 'microphone' | 'screen' | 'screenSound';
export type RoomSessionPhase = 'joining' | 'waiting' | 'joined' | 'reconnecting' | 'over';

/** Why a session ended. */
export type SessionEnd = { reason: 'left' | 'roomStopped' | 'removed' | 'denied' | 'takenOver' | 'refused' | 'failed'; message: string };

export type RemoteTrack = {
  id: string;
  kind: 'audio' | 'video';
  source: Source;
  track: MediaStreamTrack | undefined;
  muted: boolean;
  /** Received layers of a track with several layers. */
  layers: ReceivedLayers | undefined;
};
export type RemoteParticipant = { id: string; name: string; tracks: readonly RemoteTrack[] };

/** A component of the room, with its name for the page. */
export type RemoteComponent = { id: string; name: string; tracks: readonly RemoteTrack[] };

export type RoomSessionState = {
  phase: RoomSessionPhase;
  ending: SessionEnd | undefined;
  selfId: string | undefined;
  participants: readonly RemoteParticipant[];
  components: readonly RemoteComponent[];
  activeSpeaker: string | undefined;
  /** Message of the last failure. */
  problem: string | undefined;
  /** The server muted the microphone, whatever the local switch is. */
  mutedByServer: boolean;
  /** Deadline of the room while its node drains. */
  endsAt: Date | undefined;
  /** State of the connections to the server. */
  link: OutageState;
  /** True if this peer is permitted to send data. */
  mayWrite: boolean;
};

export const sources: readonly Source[] = ['camera', 'microphone', 'screen', 'screenSound'];

/** Source of a track from its metadata; other applications may not set it. */
export function sourceOf(metadata: unknown, kind: 'audio' | 'video'): Source {
  const source = typeof metadata === 'object' && metadata !== null && 'source' in metadata ? metadata.source : undefined;
  return sources.find((each) => each === source) ?? (kind === 'video' ? 'camera' : 'microphone');
}
