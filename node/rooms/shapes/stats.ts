// What is measured of the media of a room: of each way of a peer and of each track, and one word for people.
import { z } from 'zod';
import { componentTypeSchema, kindSchema } from './views.ts';

const loss = z
  .number()
  .min(0)
  .max(1)
  .nullable()
  .meta({ description: 'Share of packets that were lost lately, 0 to 1; null where unknown.' });
const jitter = z.number().nonnegative().nullable().meta({ description: 'Milliseconds (RFC 3550, section 6.4.1); null where unknown.' });
const roundTrip = z.number().nonnegative().nullable().meta({ description: 'Milliseconds; null where unknown.' });
const bitrate = z.number().int().nonnegative().meta({ description: 'Bit/s.' });

export const transportStatsSchema = z
  .object({
    state: z.enum(['new', 'connecting', 'connected', 'disconnected', 'failed']),
    protocol: z.enum(['udp', 'tcp', 'relay']).nullable().meta({
      description: "relay: over this node's TURN; one of others cannot be told from its own protocol. null before ICE is through.",
    }),
    bitrate,
    available: z.number().int().nonnegative().nullable().meta({ description: 'Bit/s that are thought to fit; null where unknown.' }),
    loss,
    roundTrip,
    jitter,
  })
  .meta({ id: 'LinkFigures', description: 'One way of the media of a peer; loss, round trip and jitter are those of its tracks.' });
export type TransportStats = z.infer<typeof transportStatsSchema>;

const track = { trackId: z.string(), kind: kindSchema, bitrate, loss, roundTrip, jitter };
export const publishedTrackStatsSchema = z
  .object({
    ...track,
    encodings: z
      .array(z.object({ rid: z.string().nullable(), bitrate, loss }))
      .meta({ description: 'What the publisher sends of it: with simulcast one for each layer that flows.' }),
  })
  .meta({ id: 'PublishedFigures', description: 'A track as it comes in.' });
export type PublishedTrackStats = z.infer<typeof publishedTrackStatsSchema>;

export const receivedTrackStatsSchema = z
  .object({
    ...track,
    layers: z
      .object({ spatialLayer: z.number().int(), temporalLayer: z.number().int().nullable() })
      .nullable()
      .meta({ description: 'Layers that are sent now, 0 the smallest; null for tracks without layers and where none is sent.' }),
  })
  .meta({ id: 'ReceivedFigures', description: 'A track as it goes out to one peer.' });
export type ReceivedTrackStats = z.infer<typeof receivedTrackStatsSchema>;

/** What media knows of one peer. */
export type PeerMediaStats = {
  up: TransportStats | null;
  down: TransportStats | null;
  published: PublishedTrackStats[];
  received: ReceivedTrackStats[];
  /** Received tracks that were not measured. */
  receivedOmitted: number;
};

export const qualities = ['excellent', 'good', 'poor', 'bad', 'lost', 'unknown'] as const;
export type Quality = (typeof qualities)[number];

/** The worst that each word still stands for: loss 0 to 1, round trip and jitter in milliseconds. What is worse than all of them is bad. */
export const qualityLimits = [
  { quality: 'excellent', loss: 0.01, roundTrip: 150, jitter: 30 },
  { quality: 'good', loss: 0.03, roundTrip: 300, jitter: 60 },
  { quality: 'poor', loss: 0.1, roundTrip: 600, jitter: 120 },
] as const;

const told = qualityLimits.map(
  ({ quality, ...most }) => `${quality}: at most ${most.loss * 100} % loss, ${most.roundTrip} ms round trip and ${most.jitter} ms jitter`,
);
export const qualitySchema = z.enum(qualities).meta({
  id: 'Quality',
  description: `Of the worse way of a peer. ${told.join('; ')}; bad: worse than that; lost: media does not get through any more; unknown: nothing is measured yet.`,
});

/** One word for the media of a peer. */
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

/** The largest that is known. */
export function worstQuality(figures: readonly Measured[], name: keyof Measured): number | null {
  const known = figures.map((each) => each[name]).filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Loss of several streams together: each counts by its bitrate, and one that does not flow not at all. */
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
    status: z.enum(['connected', 'disconnected']),
    quality: qualitySchema,
    up: transportStatsSchema.nullable().meta({ description: 'From the peer; null where it has no transport to send over.' }),
    down: transportStatsSchema.nullable().meta({ description: 'To the peer; null where it has no transport to receive over.' }),
    ...publisher,
    received: z.array(receivedTrackStatsSchema),
    receivedOmitted: z
      .number()
      .int()
      .nonnegative()
      .meta({ description: 'Received tracks that were left out: those of a large room are not all measured.' }),
  })
  .meta({ id: 'PeerStats' });
export type PeerStats = z.infer<typeof peerStatsSchema>;

export const roomStatsSchema = z
  .object({
    roomId: z.string(),
    time: z.iso.datetime().meta({ description: 'When it was measured: once a second at most, however many ask.' }),
    peers: z.array(peerStatsSchema),
    components: z.array(z.object({ id: z.string(), type: componentTypeSchema, ...publisher })),
  })
  .meta({ id: 'RoomStats', description: 'How the media of a room goes.' });
export type RoomStats = z.infer<typeof roomStatsSchema>;
