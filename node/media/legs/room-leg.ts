// Leg of a room with its tracks and its audio observer: where peers and components of the room have their media.
import type { DataProducer, Producer } from 'mediasoup/types';
import type { LegAudioObserver } from '../active-speaker-observer.ts';
import type { Leg } from './leg.ts';
import type { LegTracks } from './room-tracks.ts';

export type RoomLeg = {
  readonly leg: Leg;
  readonly tracks: LegTracks<Producer>;
  readonly dataTracks: LegTracks<DataProducer>;
  readonly audio: LegAudioObserver;
};
