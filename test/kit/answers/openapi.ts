// OpenAPI validation of REST responses.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { twirpResponse } from '../../../api/operations/twirp.ts';
import { errorSchema } from '../../../node/http/openapi.ts';
import { answerValidatorsVariable } from '../../../tools/paths.mjs';
import type { DocumentedAnswers } from './documented-answers.ts';

/** Deriving the document and compiling its schemas costs more than loading validators that setup compiled. */
const compiled = process.env[answerValidatorsVariable];
const { responses, validators }: DocumentedAnswers =
  compiled === undefined
    ? (await import('./documented-answers.ts')).documentedAnswers()
    : (createRequire(import.meta.url)(compiled) as DocumentedAnswers);

/**
 * `template`: the route of the response; if missing, it is found by the path, which is the requested one without query. `body`: the parsed
 * JSON, a text of other types, undefined if there is no body.
 */
export type TestedAnswer = { method: string; path: string; template?: string | undefined; status: number; body: unknown };

/** Responses without a route must have the schema of errors. @returns the difference to the document, without content of the body */
export function problemOfAnswer({ method, path, template = templateOf(path), status, body }: TestedAnswer): string | undefined {
  const call = `${method} ${path} -> ${status}`;
  const operation = template === undefined ? undefined : responses[template]?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  if (operation === undefined) {
    if (status < 400 && method !== 'OPTIONS') return `${call} is not documented`;
    const isError = method === 'HEAD' || status < 400 || isErrorBody(body);
    return isError ? undefined : `${call} does not match the error schema`;
  }
  const content = operation[status];
  if (content === undefined) return `${call} is not documented, only ${Object.keys(operation).join(', ')}`;
  if (method === 'HEAD' || content === 'nothing') {
    return body === undefined ? undefined : `${call} has an undocumented body`;
  }
  if (content === 'text') return undefined;
  const validate = validators[content];
  assert.ok(validate, `no validator for ${call}`);
  if (validate(body)) return undefined;
  const differences = (validate.errors ?? []).map(({ instancePath, message }) => `data${instancePath} ${message}`);
  return `${call} is not as documented: ${differences.join(', ')}`;
}

function isErrorBody(body: unknown): boolean {
  return errorSchema.safeParse(body).success || twirpResponse.failure?.schema.safeParse(body).success === true;
}

/** Fails if the response differs from the document. */
export function checkResponse(method: string, path: string, status: number, body: unknown): void {
  const problem = problemOfAnswer({ method, path, status, body });
  assert.ok(problem === undefined, `${problem}: ${JSON.stringify(body)}`);
}

/** The parsed JSON, the text if it is not JSON, undefined if empty. */
export function jsonOf(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function templateOf(path: string): string | undefined {
  if (responses[path]) return path;
  return Object.keys(responses).find((template) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`).test(path));
}
