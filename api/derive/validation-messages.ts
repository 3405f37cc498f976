// Validation messages: convert zod issues to one sentence that names the field and its value, for every protocol.
import type { z } from 'zod';

const maxValueLength = 100;
/** Fields whose values are never shown: messages end up in the logs of clients. */
const secretFields = /token|secret|credential|password|accessKey|^s3$/i;

/** A value for a message: JSON, cut to 100 characters. */
export function formatValue(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}…`;
}

/** `["options", "publish", 0]` becomes `options.publish[0]`, cut to 100 characters. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}…`;
}

/** The first validation error of `input`. `whole`: name of the input if no field is at fault, for example `the body`. */
export function validationMessage(error: z.ZodError, input: unknown, whole: string): string {
  const issue = error.issues[0];
  if (!issue) return `Expected ${whole} to be valid`;
  const name = issue.path.length === 0 ? whole : formatPath(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => formatPath([...issue.path, key]));
    return `Unknown ${keys.length === 1 ? 'field' : 'fields'} ${keys.slice(0, 5).join(', ')}`;
  }
  const value = valueAt(input, issue.path);
  if (value === undefined) return `Required field ${name} is missing`;
  const got = issue.path.some((step) => secretFields.test(String(step))) ? 'a value that is not shown here' : formatValue(value);
  if (issue.message.startsWith('may ')) return `${name} ${issue.message}, got: ${got}`;
  return `Expected ${name} ${expectation(issue)}, got: ${got}`;
}

/** The invalid field if it is a top-level field, else undefined. */
export function invalidFieldPath(error: z.ZodError): string | undefined {
  const path = error.issues[0]?.path;
  return path?.length === 1 ? String(path[0]) : undefined;
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith('to ')) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `to be ${typeNames[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return issue.values.length === 1 ? `to be ${formatValue(issue.values[0])}` : `to be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return bound(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return bound(issue.origin, 'at most', issue.maximum);
    default:
      return 'to be valid';
  }
}

const typeNames: Record<string, string> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a string',
  boolean: 'true or false',
  number: 'a number',
  int: 'an integer',
  null: 'null',
};

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === 'string') return `to have ${relation} ${limit} ${limit === 1 ? 'character' : 'characters'}`;
  if (origin === 'array') return `to have ${relation} ${limit} ${limit === 1 ? 'item' : 'items'}`;
  return `to be ${relation} ${limit}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}
