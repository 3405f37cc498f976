// Validation of what a request of LiveKit's server API becomes: by the schema of the operation that it uses.
import type { z } from 'zod';
import { invalidFieldError } from '../../../api/derive/validation-messages.ts';

/** @throws ServiceError `invalid_field` */
export function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const result = schema.safeParse(value);
  if (!result.success) throw invalidFieldError(result.error, value, 'the request');
  return result.data;
}
