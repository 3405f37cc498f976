// Converts a schema of zod to a structural schema of Kubernetes.
import { z } from 'zod';
import { kube } from '../api/core/kube.ts';

const noUnions = 'A structural schema supports no unions except with null';

export type Json = { [name: string]: unknown };

/** JSON Schema with the facts for Kubernetes. Schemas with an id are inlined, because Kubernetes has no references. */
export function kubernetesJson(schema: z.ZodType, target: 'draft-2020-12' | 'draft-7' = 'draft-2020-12'): Json {
  const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', target, override: addFacts }) as Json;
  const { $defs, definitions = $defs, ...json } = made;
  return JSON.parse(JSON.stringify(json), (_, value: Json | null) => {
    if (typeof value?.$ref !== 'string') return value;
    const { $ref, ...rest } = value;
    return { ...(definitions as Record<string, Json>)[String($ref).replace(/^#\/(\$defs|definitions)\//, '')], ...rest };
  }) as Json;
}

type Override = { zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema };

function addFacts({ zodSchema, jsonSchema }: Override): void {
  const { rules, maxLength, preserved, set } = kube.get(zodSchema) ?? {};
  delete jsonSchema.id;
  if (maxLength !== undefined) jsonSchema.maxLength = maxLength;
  if (preserved) jsonSchema['x-kubernetes-preserve-unknown-fields'] = true;
  if (set) jsonSchema['x-kubernetes-list-type'] = 'set';
  if (!rules || rules.length === 0) return;
  jsonSchema['x-kubernetes-validations'] = rules;
  // A rule has a readable message, these have none.
  for (const replaced of ['pattern', 'format', 'contentMediaType']) delete jsonSchema[replaced];
}

/**
 * Drops $schema, drops additionalProperties next to properties, uses `nullable` for a union with null and 64-bit integers.
 * @throws Error if a structural schema cannot express it
 */
export function structural(schema: Json): Json {
  const { $schema: _, additionalProperties, anyOf, ...rest } = schema;
  const preserved = rest['x-kubernetes-preserve-unknown-fields'] === true;
  if (rest['x-kubernetes-int-or-string'] === true) return rest;
  if (Array.isArray(rest.type) || rest.oneOf !== undefined || rest.allOf !== undefined) throw new Error(noUnions);
  if (anyOf !== undefined) return { ...structural(notNull(anyOf)), ...rest, nullable: true };
  const made: Json = { ...rest };
  delete made.propertyNames;
  if (rest.type === 'integer') made.format = 'int64';
  if (rest.properties) {
    made.properties = mapValues(rest.properties as Record<string, Json>, structural);
  } else if (rest.type === 'object' && !preserved && typeof additionalProperties === 'object') {
    made.additionalProperties = structural(additionalProperties as Json);
  }
  if (rest.items) made.items = structural(rest.items as Json);
  return made;
}

function notNull(anyOf: unknown): Json {
  const [option, ...more] = (anyOf as Json[]).filter(({ type }) => type !== 'null');
  if (!option || more.length > 0 || (anyOf as Json[]).length !== 2) throw new Error(noUnions);
  return option;
}

function mapValues(of: Record<string, Json>, change: (value: Json) => Json): Record<string, Json> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]));
}

/** Bounds as text: `1 to 100`, `at least 1`, `1 to 8 items`; undefined if there are none. */
export function describeBounds(schema: Json): string | undefined {
  if (schema.type === 'integer' || schema.type === 'number') return range(schema.minimum, schema.maximum, '');
  if (schema.type === 'array') return range(schema.minItems, schema.maxItems, ' items');
  if (schema.maxProperties !== undefined) return range(undefined, schema.maxProperties, ' entries');
  return schema.type === 'string' && !schema.enum ? range(schema.minLength, schema.maxLength, ' characters') : undefined;
}

function range(from: unknown, to: unknown, unit: string): string | undefined {
  if (to === undefined || to === Number.MAX_SAFE_INTEGER) return from === undefined || from === 0 ? undefined : `at least ${from}${unit}`;
  return from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`;
}

/** The default of a field, if it is a scalar. */
export function defaultOf(schema: Json): string | undefined {
  return schema.default === undefined || typeof schema.default === 'object' ? undefined : String(schema.default);
}

/** Adds bounds and defaults to the descriptions, because `kubectl explain` shows nothing else. */
export function withBoundsInDescription(schema: Json): Json {
  const made: Json = { ...schema };
  const isDefault = defaultOf(schema);
  const extra = [
    schema.type === 'string' ? undefined : describeBounds(schema),
    isDefault === undefined ? undefined : `default ${isDefault}`,
  ].filter((each) => each !== undefined);
  if (schema.description !== undefined && extra.length > 0)
    made.description = `${String(schema.description).replace(/\.$/, '')} (${extra.join('; ')}).`;
  if (schema.properties) made.properties = mapValues(schema.properties as Record<string, Json>, withBoundsInDescription);
  if (schema.items) made.items = withBoundsInDescription(schema.items as Json);
  return made;
}
