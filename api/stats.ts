// Media stats of a room: per transport and per track, and a quality rating per peer.
import { z } from 'zod';
import { componentTypeSchema } from './component/types.ts';
import { peerStatusSchema } from './peer.ts';
import { kindSchema } from './track.ts';

const loss = z.number().min(0).max(1).nullable().meta({ description: 'Recent packet loss, 0 to 1; null if unknown.' });
const jitter = z.number().nonnegative().nullable().meta({ description: 'Milliseconds (RFC 3550, section 6.4.1); null if unknown.' });
const roundTrip = z.number().nonnegative().nullable().meta({ description: 'Milliseconds; null if unknown.' });
const bitrate = z.number().int().nonnegative().meta({ description: 'Bit/s.' });

const transportStatsSchema = z
  .object({
    state: z.enum(['new', 'connecting', 'connected', 'disconnected', 'failed']),
    protocol: z.enum(['udp', 'tcp', 'relay']).nullable().meta({
      description: 'relay: over the TURN server of this node; other relays appear as udp or tcp. null until ICE is connected.',
    }),
    bitrate,
    available: z.number().int().nonnegative().nullable().meta({ description: 'Estimated available bandwidth in bit/s; null if unknown.' }),
    loss,
    roundTrip,
    jitter,
  })
  .meta({ id: 'LinkFigures', description: 'One direction of the media of a peer; loss, round trip and jitter are those of its tracks.' });
export type TransportStats = z.infer<typeof transportStatsSchema>;

const track = { trackId: z.string(), kind: kindSchema, bitrate, loss, roundTrip, jitter };
const publishedTrackStatsSchema = z
  .object({
    ...track,
    encodings: z
      .array(z.object({ rid: z.string().nullable(), bitrate, loss }))
      .meta({ description: 'Encodings that the publisher sends; with simulcast one per active layer.' }),
  })
  .meta({ id: 'PublishedFigures', description: 'A track as received from its publisher.' });
export type PublishedTrackStats = z.infer<typeof publishedTrackStatsSchema>;

const receivedTrackStatsSchema = z
  .object({
    ...track,
    layers: z
      .object({ spatialLayer: z.number().int(), temporalLayer: z.number().int().nullable() })
      .nullable()
      .meta({ description: 'Layers that are sent now, 0 the smallest; null for tracks without layers and if none is sent.' }),
  })
  .meta({ id: 'ReceivedFigures', description: 'A track as sent to one peer.' });
export type ReceivedTrackStats = z.infer<typeof receivedTrackStatsSchema>;

/** Media stats of one peer. */
export type PeerMediaStats = {
  up: TransportStats | null;
  down: TransportStats | null;
  published: PublishedTrackStats[];
  received: ReceivedTrackStats[];
  /** Number of received tracks that were not measured. */
  receivedOmitted: number;
};

const qualities = ['excellent', 'good', 'poor', 'bad', 'lost', 'unknown'] as const;
export type Quality = (typeof qualities)[number];

/** Upper bounds of each rating: loss 0 to 1, round trip and jitter in milliseconds. Worse than all of them is bad. */
export const qualityLimits = [
  { quality: 'excellent', loss: 0.01, roundTrip: 150, jitter: 30 },
  { quality: 'good', loss: 0.03, roundTrip: 300, jitter: 60 },
  { quality: 'poor', loss: 0.1, roundTrip: 600, jitter: 120 },
] as const;

const limits = qualityLimits.map(
  ({ quality, ...most }) => `${quality}: at most ${most.loss * 100} % loss, ${most.roundTrip} ms round trip and ${most.jitter} ms jitter`,
);
export const qualitySchema = z.enum(qualities).meta({
  id: 'Quality',
  description: `Quality of the worse direction of a peer. ${limits.join('; ')}; bad: worse than that; lost: media is interrupted; unknown: no stats yet.`,
});

/** Quality rating of a peer. */
export function connectionQuality({ up, down }: Pick<PeerMediaStats, 'up' | 'down'>): Quality {
  const links = [up, down].filter((link) => link !== null);
  if (links.some(({ state }) => state === 'disconnected' || state === 'failed')) return 'lost';
  const worst = { loss: worstQuality(links, 'loss'), roundTrip: worstQuality(links, 'roundTrip'), jitter: worstQuality(links, 'jitter') };
  if (worst.loss === null && worst.roundTrip === null && worst.jitter === null) return 'unknown';
  const within = qualityLimits.find(
    (most) => (worst.loss ?? 0) <= most.loss && (worst.roundTrip ?? 0) <= most.roundTrip && (worst.jitter ?? 0) <= most.jitter,
  );
  return within?.quality ?? 'bad';
}

type Measured = { loss: number | null; roundTrip: number | null; jitter: number | null };

/** The maximum of the known values. */
export function worstQuality(stats: readonly Measured[], name: keyof Measured): number | null {
  const known = stats.map((each) => each[name]).filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Loss of several streams, weighted by bitrate; inactive streams do not count. */
export function packetLoss(streams: readonly { bitrate: number; loss: number | null }[]): number | null {
  let lost = 0;
  let all = 0;
  for (const { bitrate: weight, loss: share } of streams) {
    if (share === null || weight === 0) continue;
    lost += share * weight;
    all += weight;
  }
  return all === 0 ? null : lost / all;
}

const publisher = { published: z.array(publishedTrackStatsSchema) };
const peerStatsSchema = z
  .object({
    id: z.string(),
    status: peerStatusSchema,
    quality: qualitySchema,
    up: transportStatsSchema.nullable().meta({ description: 'From the peer; null without a send transport.' }),
    down: transportStatsSchema.nullable().meta({ description: 'To the peer; null without a receive transport.' }),
    ...publisher,
    received: z.array(receivedTrackStatsSchema),
    receivedOmitted: z
      .number()
      .int()
      .nonnegative()
      .meta({ description: 'Number of received tracks that were not measured; large rooms are measured partially.' }),
  })
  .meta({ id: 'PeerStats' });
export type PeerStats = z.infer<typeof peerStatsSchema>;

export const roomStatsSchema = z
  .object({
    roomId: z.string(),
    time: z.iso.datetime().meta({ description: 'Time of the measurement; measured at most once per second.' }),
    peers: z.array(peerStatsSchema),
    components: z.array(z.object({ id: z.string(), type: componentTypeSchema, ...publisher })),
  })
  .meta({ id: 'RoomStats', description: 'Media stats of a room.' });
export type RoomStats = z.infer<typeof roomStatsSchema>;
