// Console session: reports to the console, before login, development mode and enabled features.
import { z } from 'zod';
import { componentTypeSchema } from './component/types.ts';

export const consoleSessionSchema = z
  .object({
    development: z.boolean().meta({ description: 'True if the node runs in development mode and this client may receive the token.' }),
    token: z.string().optional().meta({ description: 'The API token, in development mode and for direct local requests only.' }),
    components: z
      .array(componentTypeSchema)
      .meta({ description: 'Component types that rooms of this node may have (SVC_COMPONENTS_USED).' }),
  })
  .meta({ id: 'ConsoleSession' });
export type ConsoleSession = z.infer<typeof consoleSessionSchema>;
