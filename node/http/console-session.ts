// What the console asks first: whether it runs in development mode, where it is told the token.
import { z } from 'zod';

export const consoleSessionSchema = z
  .object({ development: z.boolean(), token: z.string().optional().meta({ description: 'The API token, in development mode only.' }) })
  .meta({ id: 'ConsoleSession' });
export type ConsoleSession = z.infer<typeof consoleSessionSchema>;
