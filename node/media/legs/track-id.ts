// Track id: of a producer or a consumer. Successors of a producer, at other media workers, have the same track id.
import type { AppData } from 'mediasoup/types';

/** Whoever creates a producer or a consumer sets it. */
export type TrackData = { trackId: string };

export function trackIdOf({ id, appData }: { id: string; appData: AppData }): string {
  return typeof appData.trackId === 'string' ? appData.trackId : id;
}

/** Ids of producers are unique at a media worker, where a track may be piped. `generation`: number of its successors so far. */
export function producerIdOf(trackId: string, generation: number): string {
  return generation === 0 ? trackId : `${trackId}.${generation}`;
}
