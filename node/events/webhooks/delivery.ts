// Delivery: one event for one receiver.

/**
 * `at`: time of the event (milliseconds since 1970), from which its age counts. `body`: the JSON text, identical in every attempt.
 * `trace`: traceparent of the cause; it is not kept on disk, and not handed over.
 */
export type NewDelivery = { url: string; roomId: string; incarnation: string; eventId: string; at: number; body: string; trace?: string };

/** `n` numbers the deliveries of this node in order, also across restarts. */
export type Delivery = NewDelivery & { n: number; attempts: number };

/** Size of a delivery for limits: its texts plus a constant per entry. */
export function byteLength({ url, roomId, body }: NewDelivery): number {
  return body.length + url.length + roomId.length + 400;
}
