// Ids: those that clients choose, and idempotency keys.
import { z } from 'zod';
import { kube, matches } from './core/kube.ts';

/** Room and peer ids: alphanumeric characters, hyphens and underscores, 1 to 128 of them. */
export const idPattern = /^[A-Za-z0-9_-]{1,128}$/;
export const idRule = 'may contain only alphanumeric characters, hyphens and underscores (1 to 128)';
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
