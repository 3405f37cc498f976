// What is wrong with an input, as one English sentence that names the field.
import type { z } from 'zod';

/** Longest piece of what was got that a sentence shows, in characters. */
const maxShown = 100;

/** One sentence for the first thing that is wrong: `Expected data.kind to be one of "audio", "video", got: "film"`. */
export function sentenceOf(error: z.ZodError, input: unknown, prefix = 'data'): string {
  const issue = error.issues[0];
  if (!issue) return `Invalid ${prefix}`;
  const path = [prefix, ...issue.path].join('.');
  const value = valueAt(input, issue.path);
  if (issue.code === 'unrecognized_keys') return `Unknown field in ${path}: ${shown(issue.keys[0])}`;
  if (value === undefined) return `Missing field: ${path}`;
  return `Expected ${path} ${expectation(issue)}, got: ${shown(value)}`;
}

/** Schemas that say `to be ...` or `may ...` themselves are quoted; the rest is told from the kind of the issue. */
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith('to be ')) return issue.message;
  if (issue.message.startsWith('may ')) return `to be right (it ${issue.message})`;
  switch (issue.code) {
    case 'invalid_type':
      return `to be ${names[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `to be one of ${issue.values.map((each) => JSON.stringify(each)).join(', ')}`;
    case 'too_small':
      return `to ${issue.origin === 'string' || issue.origin === 'array' ? 'have' : 'be'} at least ${issue.minimum}${units[issue.origin] ?? ''}`;
    case 'too_big':
      return `to ${issue.origin === 'string' || issue.origin === 'array' ? 'have' : 'be'} at most ${issue.maximum}${units[issue.origin] ?? ''}`;
    default:
      return 'to be a valid value';
  }
}

const names: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
const units: Record<string, string> = { string: ' characters', array: ' items' };

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
}
