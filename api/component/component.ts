// Components of a room, of any type: request body and view. Options of each type: types.ts.
import { z } from 'zod';
import { externalIdSchema, idSchema } from '../id.ts';
import { jsonSchema } from '../json.ts';
import { trackViewSchema } from '../track.ts';
import { componentTypeNames, componentTypeSchema } from './types.ts';

export const componentViewSchema = z
  .object({
    id: z.string(),
    type: componentTypeSchema,
    externalId: z.string().nullable(),
    properties: z.record(z.string(), jsonSchema).meta({
      description:
        'Options without secrets, and state. `uploadProblem`: why uploads to S3 fail (two rejections in a row, or no success for 15 s); null or missing if they succeed.',
    }),
    tracks: z.array(trackViewSchema),
  })
  .meta({ id: 'Component', description: `A component of a room: ${componentTypeNames.join(', ').replace(/, ([^,]*)$/, ' or $1')}.` });
export type ComponentView = z.infer<typeof componentViewSchema>;

export const componentOptionsSchema = z.strictObject({
  type: componentTypeSchema,
  /** Parsed by the component type: types.ts. */
  options: z.record(z.string().max(128), jsonSchema).optional(),
  externalId: externalIdSchema.optional(),
});
export type ComponentOptions = z.infer<typeof componentOptionsSchema>;

export const componentSubscriptionSchema = z
  .strictObject({
    origins: z.array(idSchema).max(1000).meta({ description: 'Ids of peers and components to receive tracks from.' }),
  })
  .meta({ id: 'ComponentSubscription', description: 'Additional origins of a component in manual mode.' });
