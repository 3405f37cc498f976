// Event feed: events with their source node and index, so that a consumer can resume after a disconnect.
import type { RoomEvent } from '../../api/events.ts';

/** `source`: `<node name>#<boot id>`, new at each start of a node. `index` numbers the events of a source from 1. */
export type SourcedEvent = { source: string; index: number; event: RoomEvent };
export type SourcedEventListener = (sourced: SourcedEvent) => void;

/** Index of the last event seen, by source. */
export type EventCursor = Record<string, number>;

/** Events of one source after index `from`, up to and including `upTo`. */
export type EventPage = {
  from: number;
  upTo: number;
  events: readonly SourcedEvent[];
  /** Index of the newest event of the source. */
  last: number;
  /** Requested events are no longer stored: `from` is later than requested. */
  missing: boolean;
};

export interface EventFeed {
  /** Delivers every event from now on, in the order of its source. @returns a function that ends the subscription. */
  subscribe(listener: SourcedEventListener): () => void;
  /** The index of the last event of every available source. */
  cursor(): EventCursor;
  /**
   * One page of the events of a source after an index.
   * @returns undefined if the source is unknown or lost.
   * @throws ServiceError `node_unreachable` if the node did not respond.
   */
  since(source: string, index: number, limit?: number): Promise<EventPage | undefined>;
}
