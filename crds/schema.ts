// Small words of the schemas of our resources: zod, with what Kubernetes wants beside it (CEL rules, list types, any JSON).
import { z } from 'zod';

/** A rule in CEL whose message is a sentence for whoever ran `kubectl apply`. */
export type Rule = { rule: string; message: string; fieldPath?: string; reason?: string };

/** The schema with CEL rules (`x-kubernetes-validations`). */
export function withRules<T extends z.ZodType>(schema: T, ...rules: Rule[]): T {
  return schema.meta({ ...schema.meta(), 'x-kubernetes-validations': rules }) as T;
}

/** A list whose items are told apart by `key`, so that two appliers can each own items of it. */
export function listBy<T extends z.ZodType>(key: string, schema: T): T {
  return schema.meta({ ...schema.meta(), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] }) as T;
}

/** Any JSON value, kept as it is. */
export function anyJson(description: string) {
  return z.unknown().meta({ description, 'x-kubernetes-preserve-unknown-fields': true });
}

/** An object of Kubernetes' own whose fields the API server checks when we use it: kept as it is. */
export function foreign(description: string) {
  return z.record(z.string(), z.unknown()).meta({ description, 'x-kubernetes-preserve-unknown-fields': true });
}

export const name = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);

export const id = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9_-]+$/);

export function integer(minimum: number, maximum: number) {
  return z.int().min(minimum).max(maximum);
}

/** Seconds up to ten years, as the nodes take them; 0 = never. */
export const secondsOrNever = integer(0, 315_360_000);

export const labels = z.record(z.string().max(317), z.string().max(65_536));

export const secretKeyRef = z.object({
  name: name.meta({ description: 'Name of a Secret of the same namespace.' }),
  key: z.string().min(1).max(253).meta({ description: 'Key in its data.' }),
});

export const conditionSchema = z
  .object({
    type: z.string().max(316),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string().max(1024).meta({ description: 'One word in CamelCase for programs.' }),
    message: z.string().max(32_768).meta({ description: 'One sentence for people.' }),
    observedGeneration: integer(0, Number.MAX_SAFE_INTEGER).optional(),
    lastTransitionTime: z.string().meta({ format: 'date-time' }),
  })
  .meta({ description: 'An observation, as Kubernetes conventions have it.' });

export const conditions = listBy('type', z.array(conditionSchema).max(16).meta({ description: 'What is known of it now.' }));
