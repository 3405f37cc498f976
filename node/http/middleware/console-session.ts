// What the console asks first: whether it runs in development mode, where it is told the token, and what it may offer.
import { z } from 'zod';
import { componentTypeSchema } from '../../rooms/shapes/views.ts';

export const consoleSessionSchema = z
  .object({
    development: z.boolean().meta({ description: 'Whether the node runs in development mode and whoever asks may be told the token.' }),
    token: z.string().optional().meta({ description: 'The API token, in development mode and straight from this machine only.' }),
    components: z
      .array(componentTypeSchema)
      .meta({ description: 'Kinds of components that rooms of this node may have (SVC_COMPONENTS_USED).' }),
  })
  .meta({ id: 'ConsoleSession' });
export type ConsoleSession = z.infer<typeof consoleSessionSchema>;
