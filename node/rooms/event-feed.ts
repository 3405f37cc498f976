// Events with their places: which node told them and as which of its events, so that whoever was away can take up where it was.
import type { RoomEvent } from './shapes/events.ts';

/** `source`: `<node name>#<boot id>`, one per start of a node; `index` counts its events, from 1. */
export type SourcedEvent = { source: string; index: number; event: RoomEvent };
export type SourcedEventListener = (sourced: SourcedEvent) => void;

/** By source: the index of the last event that was seen. */
export type EventCursor = Record<string, number>;

/** Events of one source after the index `from`, up to and with `upTo`. */
export type EventPage = {
  from: number;
  upTo: number;
  events: readonly SourcedEvent[];
  /** Index of the source's newest event. */
  last: number;
  /** Events that were asked for are gone: `from` is later than was asked. */
  missing: boolean;
};

export interface EventFeed {
  /** Every event from now on, in the order of its source. @returns a function that ends the subscription. */
  subscribe(listener: SourcedEventListener): () => void;
  /** What has been told until now, for every source that can be asked. */
  cursor(): EventCursor;
  /**
   * The events of one source after an index, a page of them.
   * @returns undefined where the source is not known or gone.
   * @throws ServiceError `node_unreachable` where it did not answer.
   */
  since(source: string, index: number, limit?: number): Promise<EventPage | undefined>;
}
