// OpenAPI validation of REST responses.
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../../../api/derive/json-schemas.ts';
import { twirpResponse } from '../../../api/operations/twirp.ts';
import { errorSchema, openApiDocument } from '../../../node/http/openapi.ts';
import { routes } from '../../../node/http/routes/routes.ts';

/** The document with closed response schemas: an undocumented field is an error here. */
export const testedDocument = close(openApiDocument(routes, { version: 'test', path: '' }));

const ajv = new Ajv2020({ strict: true, allErrors: true, strictTypes: false, meta: false, validateSchema: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', components: testedDocument.components } as object, 'document');
ajv.addVocabulary(['securitySchemes', 'components', 'schemas']);
const validators = new Map<string, ValidateFunction>();

/**
 * `template`: the route of the response; if missing, it is found by the path, which is the requested one without query. `body`: the parsed
 * JSON, a text of other types, undefined if there is no body.
 */
export type TestedAnswer = { method: string; path: string; template?: string | undefined; status: number; body: unknown };

/** Responses without a route must have the schema of errors. @returns the difference to the document, without content of the body */
export function problemOfAnswer({ method, path, template = templateOf(path), status, body }: TestedAnswer): string | undefined {
  const call = `${method} ${path} -> ${status}`;
  const operation = template === undefined ? undefined : testedDocument.paths[template]?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  if (operation === undefined) {
    if (status < 400 && method !== 'OPTIONS') return `${call} is not documented`;
    const isError = method === 'HEAD' || status < 400 || isErrorBody(body);
    return isError ? undefined : `${call} does not match the error schema`;
  }
  const response = operation.responses[status];
  if (!response) return `${call} is not documented, only ${Object.keys(operation.responses).join(', ')}`;
  const schema = response.content?.['application/json']?.schema;
  if (method === 'HEAD' || response.content === undefined) {
    return body === undefined ? undefined : `${call} has an undocumented body`;
  }
  if (!schema) return undefined;
  const validate = validatorOf(`${method} ${template} ${status}`, schema);
  return validate(body) ? undefined : `${call} is not as documented: ${ajv.errorsText(validate.errors)}`;
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
  if (testedDocument.paths[path]) return path;
  return Object.keys(testedDocument.paths).find((template) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`).test(path));
}

function validatorOf(key: string, schema: JsonSchema): ValidateFunction {
  const known = validators.get(key);
  if (known) return known;
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
  const made = ajv.compile(JSON.parse(text) as object);
  validators.set(key, made);
  return made;
}

function close<Node>(node: Node): Node {
  if (typeof node === 'object' && node !== null) {
    const schema = node as JsonSchema;
    // Close only explicit objects with fields; the refinement of `code` in an allOf with Error stays open.
    if (schema.type === 'object' && schema.properties && schema.required && schema.additionalProperties === undefined) {
      schema.additionalProperties = false;
    }
    for (const child of Object.values(node)) close(child);
  }
  return node;
}
