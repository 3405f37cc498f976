// A call as the page shows it.
import type { ReceivedLayers } from '@mediarooms/client';
import type { OutageState } from './outage.ts';

export type Source = 'camera' | 'microphone' | 'screen' | 'screenSound';
export type RoomSessionPhase = 'joining' | 'joined' | 'reconnecting' | 'over';

/** Why a call is over. */
export type SessionEnd = { reason: 'left' | 'roomStopped' | 'removed' | 'takenOver' | 'refused' | 'failed'; message: string };

export type RemoteTrack = {
  id: string;
  kind: 'audio' | 'video';
  source: Source;
  track: MediaStreamTrack | undefined;
  muted: boolean;
  /** Of a track with several layers: which arrive. */
  layers: ReceivedLayers | undefined;
};
export type RemoteParticipant = { id: string; name: string; tracks: readonly RemoteTrack[] };

/** What is in the room beside people, with its name for the page. */
export type RemoteComponent = { id: string; name: string; tracks: readonly RemoteTrack[] };

export type RoomSessionState = {
  phase: RoomSessionPhase;
  ending: SessionEnd | undefined;
  selfId: string | undefined;
  people: readonly RemoteParticipant[];
  components: readonly RemoteComponent[];
  activeSpeaker: string | undefined;
  /** The last thing that did not work, in a sentence. */
  problem: string | undefined;
  /** The server took the microphone's sound away, whatever its switch says. */
  mutedByServer: boolean;
  /** When the node's rooms end because it goes away. */
  endsAt: Date | undefined;
  /** How the ways to the server fare. */
  link: OutageState;
  /** Whether this peer may send data. */
  mayWrite: boolean;
};

export const sources: readonly Source[] = ['camera', 'microphone', 'screen', 'screenSound'];

/** What a track shows, from its metadata; other applications may send none. */
export function sourceOf(metadata: unknown, kind: 'audio' | 'video'): Source {
  const source = typeof metadata === 'object' && metadata !== null && 'source' in metadata ? metadata.source : undefined;
  return sources.find((each) => each === source) ?? (kind === 'video' ? 'camera' : 'microphone');
}
