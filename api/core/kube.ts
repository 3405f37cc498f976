// What Kubernetes needs of a schema beyond JSON Schema: in a separate registry, which OpenAPI never sees.
import { z } from 'zod';

/** A CEL rule; its message is shown to the user of `kubectl apply`. */
export type Rule = { rule: string; message: string; fieldPath?: string; reason?: string; optionalOldSelf?: boolean };

export const rule = (cel: string, message: string): Rule => ({ rule: cel, message });

/**
 * A pattern as a rule, because the API server's own message for `pattern` only repeats the pattern. RE2 supports the patterns used here,
 * but rejects the needless escape of a slash. A quote would end the text of CEL.
 */
export function matches(pattern: RegExp, message: string): Rule {
  const source = pattern.source.replaceAll('\\/', '/').replaceAll("'", '\\x27');
  return rule(`self.matches(r'${source}')`, message);
}

/** Paths in a folder: never up. */
export const staysBelow = (message: string): Rule => rule("!self.split('/').exists(part, part == '..')", message);

export type KubeFacts = {
  rules?: readonly Rule[];
  /** Bounds what a rule costs, if only a pattern bounds the text for REST. */
  maxLength?: number;
  /** Description in a resource, if that of REST does not suit. */
  doc?: string;
  /** Any JSON, stored verbatim. */
  preserved?: true;
  /** The items of the list are a set. */
  set?: true;
  /** In a Room: name of the field. */
  as?: string;
  /** In a Room: one value of a Secret. */
  key?: true;
  /** In a Room: fields that come from one Secret. */
  keys?: readonly string[];
  /** In a Room: its fields replace the field. */
  flat?: true;
};
/** Facts survive `.meta()`, `.refine()` and bounds, but not wrappers such as `.optional()`. */
export const kube = z.registry<KubeFacts>();

/** A text of one form, for zod and in CEL. `what` completes `Expected x to be …` and `must be …`; `maxLength` bounds what the rule costs. */
export function text(what: string, pattern: RegExp, maxLength: number) {
  const error = `to be ${what}`;
  return z
    .string({ error })
    .max(maxLength, { error })
    .refine((given) => pattern.test(given), { error })
    .register(kube, { rules: [matches(pattern, `must be ${what}`)] });
}
