// RPCs of LiveKit's server API, which only nodes request from each other: any node accepts its requests.
import { z } from 'zod';
import { named, rpc } from '../core/operation.ts';
import { idSchema } from '../id.ts';

const peerSubscriptionsSchema = z.object({
  roomId: idSchema,
  peerId: idSchema,
  trackIds: z.array(z.string().max(128)).max(4_096),
  subscribe: z.boolean(),
});
export type PeerSubscriptions = z.infer<typeof peerSubscriptionsSchema>;

export const livekitRpcs = named({
  /** At the owning node of the room: subscribes a peer to tracks, or unsubscribes it. */
  updatePeerSubscriptions: rpc(peerSubscriptionsSchema, z.null()),
});
