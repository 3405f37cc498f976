// Ids: those that clients choose, and idempotency keys.
import { z } from 'zod';
import { idPattern, idRule } from './core/id-pattern.ts';
import { kube, matches } from './core/kube.ts';

/** Room and peer ids. */
export const idSchema = z
  .string()
  .regex(idPattern, idRule)
  .register(kube, { maxLength: 128, rules: [matches(idPattern, idRule)] });

export const externalIdSchema = z
  .string()
  .min(1)
  .refine((value) => Buffer.byteLength(value) <= 256, 'may be at most 256 bytes')
  .meta({ description: 'Idempotency key chosen by the client: a repeated request returns the existing object.' });

export function isValidId(id: string): boolean {
  return idPattern.test(id);
}
