// Deliveries in LiveKit's form. Records of deliveries have no form, so that every version reads them: the URL of the receiver has it as its
// fragment, which is never sent, and the body contains the event in both forms, because dead letters show ours.
import type { RoomEvent } from '../../../api/events.ts';

const mark = '#livekit';

/** `url`: has no fragment. */
export function livekitReceiver(url: string): string {
  return url + mark;
}

export function isLiveKitReceiver(url: string): boolean {
  return url.endsWith(mark);
}

export function livekitBody(event: RoomEvent, converted: object): string {
  return JSON.stringify({ ...event, livekit: converted });
}

/** What the receiver gets. */
export function livekitText(body: string): string {
  const { livekit } = JSON.parse(body) as { livekit?: unknown };
  return JSON.stringify(livekit ?? null);
}
