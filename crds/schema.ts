// Building blocks of CRD schemas: zod plus the Kubernetes extensions (CEL rules, list types, preserved JSON).
import { z } from 'zod';
import { idPattern, idRule } from '../api/core/id-pattern.ts';
import { kube, matches, type Rule } from '../api/core/kube.ts';

/** Adds CEL rules to those of the schema. */
export function withRules<T extends z.ZodType>(schema: T, ...rules: Rule[]): T {
  const copy = schema.clone() as T;
  kube.add(copy, { rules: [...(kube.get(schema)?.rules ?? []), ...rules] });
  return copy;
}

/** A list whose items are identified by `key`, so that two field managers can each own items. */
export function listMap<T extends z.ZodType>(key: string, schema: T): T {
  return schema.meta({ ...schema.meta(), 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] }) as T;
}

/** Any JSON value, stored verbatim. */
export function preservedJson(description: string) {
  return z.unknown().meta({ description, 'x-kubernetes-preserve-unknown-fields': true });
}

/** A type of Kubernetes whose fields the API server validates when the operator uses it: stored verbatim. */
export function embeddedKubernetesType(description: string) {
  return z.record(z.string(), z.unknown()).meta({ description, 'x-kubernetes-preserve-unknown-fields': true });
}

/** A string with a pattern; `max` bounds the cost of checking it. */
export function limitedText(max: number, pattern: RegExp, message: string) {
  return withRules(
    z
      .string()
      .max(max)
      .refine((value) => pattern.test(value), message),
    matches(pattern, message),
  );
}

export const name = limitedText(
  253,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  "must be a Kubernetes name: lower case letters, digits, '-' and '.', with a letter or digit at both ends",
);

export const secretName = name.meta({ description: 'Name of a Secret of the same namespace.' });

export const clusterName = limitedText(
  40,
  /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  "must be the name of a MediaCluster: lower case letters, digits and '-', beginning with a letter",
);

export const id = limitedText(128, idPattern, idRule);

export function integer(minimum: number, maximum: number) {
  return z.int().min(minimum).max(maximum);
}

/** A Kubernetes quantity, e.g. 500m or 2Gi, or a number. */
export const quantity = withRules(z.union([z.int(), z.string()]).meta({ 'x-kubernetes-int-or-string': true }), {
  rule: "type(self) == int ? self >= 0 : (isQuantity(self) && quantity(self).compareTo(quantity('0')) >= 0)",
  message: 'must be a quantity such as 500m, 2 or 10Gi, and not below 0',
});

const labelKey = "k.matches(r'^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')";
const keyRule: Rule = {
  rule: `self.all(k, ${labelKey})`,
  message: 'has an invalid key: an optional prefix (a host name and /), then at most 63 letters, digits, -, _ and .',
};

export const labels = withRules(z.record(z.string(), z.string().max(63)).meta({ maxProperties: 64 }), keyRule, {
  rule: "self.all(k, self[k].matches(r'^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))",
  message: 'has an invalid label value: letters, digits, -, _ and ., with a letter or digit at both ends',
});

export const annotations = withRules(z.record(z.string(), z.string().max(65_536)).meta({ maxProperties: 64 }), keyRule);

/** Prefixes of labels and annotations that identify objects of the operator. */
export const reservedRule: Rule = {
  rule: "self.all(k, !k.startsWith('mediarooms.dev/') && !k.startsWith('app.kubernetes.io/'))",
  message: 'must not use mediarooms.dev/ and app.kubernetes.io/, which are reserved for the operator',
};

/** On a Secret: Rooms of its namespace may use its values. Otherwise an author of Rooms could send any Secret to a server of their own. */
export const roomSecretLabel = 'mediarooms.dev/room-secret';

export const secretKeyRef = z.object({
  name: secretName,
  key: limitedText(253, /^[-._A-Za-z0-9]+$/, 'must be a key of a Secret: letters, digits, -, _ and .').meta({
    description: 'Key in its data.',
  }),
});

const conditionSchema = z
  .object({
    type: z.string().max(316).meta({ description: 'Condition type, for example Ready.' }),
    status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'True, False or Unknown.' }),
    reason: z.string().max(1024).meta({ description: 'Reason in CamelCase, for programs.' }),
    message: z.string().max(32_768).meta({ description: 'Message for people.' }),
    observedGeneration: integer(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .meta({ description: 'The generation that the condition was derived from.' }),
    lastTransitionTime: z.string().meta({ description: 'When the status last changed.', format: 'date-time' }),
  })
  .meta({ description: 'A condition, after the API conventions of Kubernetes.' });

export const conditions = listMap('type', z.array(conditionSchema).max(16).meta({ description: 'Current conditions.' }));

/** Of an object that no operator has seen, so that kstatus does not call it Current. */
export const unobserved = { observedGeneration: -1 };

export const observedGeneration = integer(-1, Number.MAX_SAFE_INTEGER).meta({
  description: 'The generation that this status was derived from; -1 until the operator has seen the object.',
});
