// Validation messages: convert zod issues to one message that names the field and its value, for every protocol.
import type { z } from 'zod';
import { ServiceError } from '../errors.ts';

const maxValueLength = 100;
/** Fields whose values are never shown: messages end up in the logs of clients. */
const secretFields = /token|secret|credential|password|accessKey|^s3$/i;

/** A value for a message: JSON, cut to 100 characters. */
export function formatValue(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}…`;
}

/** `["options", "publish", 0]` becomes `options.publish[0]`, cut to 100 characters. */
function formatPath(path: readonly PropertyKey[]): string {
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

/** Path of the first invalid or unknown field; undefined if the input itself is invalid. */
export function invalidFieldPath(error: z.ZodError): string | undefined {
  const [issue] = error.issues;
  if (!issue) return undefined;
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  return path.length === 0 ? undefined : formatPath(path);
}

/** The error for `input`. `whole`: as for validationMessage(). `within`: path of `input` in the request. */
export function invalidFieldError(error: z.ZodError, input: unknown, whole: string, within?: string): ServiceError {
  const path = invalidFieldPath(error);
  const field = within === undefined || path === undefined ? (path ?? within) : `${within}.${path}`;
  return new ServiceError('invalid_field', validationMessage(error, input, whole), { field });
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
