// Webhook handover: batches of deliveries that a node passes to another node at shutdown.
import { z } from 'zod';
import type { Delivery, NewDelivery } from './delivery.ts';

/** A message between nodes has at most this many deliveries and, from the second one on, bytes of events. */
const batchDeliveries = 200;
const batchBytes = 256 * 1024;

const batchSchema = z
  .array(
    z.object({
      // With the mark of LiveKit's form.
      url: z.string().max(2064),
      roomId: z.string().max(128),
      incarnation: z.string().max(64),
      eventId: z.string().max(256),
      at: z.number(),
      body: z.string().max(1024 * 1024),
    }),
  )
  .max(batchDeliveries);

/** @throws ZodError */
export function parseBatch(data: unknown): NewDelivery[] {
  return batchSchema.parse(data);
}

/** In order. The content of a batch is independent of the sending node. */
export function* toBatches(pending: Iterable<Delivery>): Generator<{ deliveries: Delivery[]; message: NewDelivery[] }> {
  let deliveries: Delivery[] = [];
  let bytes = 0;
  const batch = () => ({
    deliveries,
    message: deliveries.map(({ url, roomId, incarnation, eventId, at, body }) => ({ url, roomId, incarnation, eventId, at, body })),
  });
  for (const delivery of pending) {
    if (deliveries.length > 0 && (deliveries.length === batchDeliveries || bytes + delivery.body.length > batchBytes)) {
      yield batch();
      deliveries = [];
      bytes = 0;
    }
    deliveries.push(delivery);
    bytes += delivery.body.length;
  }
  if (deliveries.length > 0) yield batch();
}
