// Tracks: media kinds and the view of a published track.
import { z } from 'zod';
import { metadataSchema } from './json.ts';

export const kindSchema = z.enum(['audio', 'video']).meta({ id: 'Kind', description: 'Media kind of a track.' });
export type Kind = z.infer<typeof kindSchema>;

/** What a track shows or plays, by `source` in its metadata; the names of the console and of our applications. */
export const sourceSchema = z.enum(['camera', 'microphone', 'screen', 'screenSound']).meta({
  id: 'Source',
  description: 'Source of a track: `source` of its metadata. Video without `source` is `camera`, audio `microphone`.',
});
export type Source = z.infer<typeof sourceSchema>;

export const trackViewSchema = z
  .object({
    id: z.string(),
    type: kindSchema,
    metadata: metadataSchema.nullable(),
    encoding: z.string().nullable().meta({ description: 'Codec of the track, for example opus, vp8, h264.' }),
    simulcast: z.boolean(),
    paused: z.boolean().meta({ description: 'Paused by its publisher.' }),
    muted: z.boolean().meta({ description: 'Muted by the server.' }),
    // Nodes of 0.7 do not send it.
    encrypted: z.boolean().default(false).meta({
      description: 'True if its publisher encrypts it end to end: only clients with the key can decode it, and no component of the room.',
    }),
  })
  .meta({ id: 'Track', description: 'A published track.' });
export type TrackView = z.infer<typeof trackViewSchema>;
