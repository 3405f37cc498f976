// One event on its way to one receiver.

/** `at`: when the event happened (milliseconds since 1970), from which its age counts. `body`: the JSON text, the same at every try. */
export type NewDelivery = { url: string; roomId: string; incarnation: string; eventId: string; at: number; body: string };

/** `n` counts the deliveries of this node in their order, also over restarts. */
export type Delivery = NewDelivery & { n: number; attempts: number };

/** What a delivery counts towards bounds: its texts and what an entry costs beside them. */
export function byteLength({ url, roomId, body }: NewDelivery): number {
  return body.length + url.length + roomId.length + 400;
}
