// JSON values of the application, and their size limit.
import { z } from 'zod';

/** Any JSON value. The input must be parsed JSON: validating a quarter of a megabyte again would take 150 ms. */
export const jsonSchema = z
  .any()
  .refine((value) => value !== undefined, { abort: true })
  .meta({ id: 'Json', description: 'Any JSON value.' }) as unknown as z.ZodType<z.core.util.JSONType, z.core.util.JSONType>;

/** Maximum size of the metadata of a peer or track, in bytes of JSON. */
const maxMetadataBytes = 16 * 1024;
export const metadataSchema = jsonSchema
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, `may be at most ${maxMetadataBytes} bytes of JSON`)
  .meta({ description: 'Any JSON value of the application, at most 16 KiB.' });
export type Metadata = z.infer<typeof metadataSchema>;
