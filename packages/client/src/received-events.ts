// Received events: how an application learns of tracks that it receives.
import type { ReceivedTracks } from './media/received-tracks.ts';
import type { ShownTracksOptions } from './media/shown-tracks.ts';
import type { RoomEvents } from './room-events.ts';
import { originOf } from './roster.ts';

/** `emits`: of the room client. */
export type ReceivedEventsOptions = {
  received: () => ReceivedTracks;
  emit: <Name extends keyof RoomEvents>(name: Name, data: RoomEvents[Name]) => void;
  hasListener: (name: keyof RoomEvents) => boolean;
};

export function receivedEvents({ received, emit, hasListener }: ReceivedEventsOptions): ShownTracksOptions {
  const subscribed: ShownTracksOptions['subscribed'] = (origin, { track }) => {
    emit('trackSubscribed', { ...originOf(origin), track, trackId: origin.trackId, kind: origin.kind });
  };
  return {
    subscribed: (origin, consumer) => {
      received().subscribed(origin.trackId, consumer);
      subscribed(origin, consumer);
    },
    unsubscribed: (trackId) => {
      received().unsubscribed(trackId);
      emit('trackUnsubscribed', { trackId });
    },
    replaced: (origin, consumer, previous) => {
      const { trackId } = origin;
      const attached = received().replaced(trackId, consumer, previous);
      if (attached || hasListener('trackReplaced')) {
        emit('trackReplaced', { trackId, track: consumer.track, previous });
        return;
      }
      // The application has the track itself, and knows no replacement.
      emit('trackUnsubscribed', { trackId });
      subscribed(origin, consumer);
    },
  };
}
