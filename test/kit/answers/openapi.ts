// Compares answers of REST with the OpenAPI document.
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../../../node/common/json-schemas.ts';
import { errorSchema, openApiDocument } from '../../../node/http/openapi.ts';
import { routes } from '../../../node/http/routes/routes.ts';

/** The document, with answers closed: a field that is not documented is a mistake here. */
export const testedDocument = close(openApiDocument(routes, { version: 'test', path: '' }));

const ajv = new Ajv2020({ strict: true, allErrors: true, strictTypes: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'document', components: testedDocument.components } as object, 'document');
ajv.addVocabulary(['securitySchemes', 'components', 'schemas']);
const validators = new Map<string, ValidateFunction>();

/**
 * `template`: of the route that answered; left out, it is looked for by the path, which is as asked, without query. `body`: the parsed JSON, a
 * text of other types, undefined where there is none.
 */
export type TestedAnswer = { method: string; path: string; template?: string | undefined; status: number; body: unknown };

/** What no route has must fail with the shape of all errors. @returns what is not as the document says, without anything of the body */
export function problemOfAnswer({ method, path, template = templateOf(path), status, body }: TestedAnswer): string | undefined {
  const call = `${method} ${path} -> ${status}`;
  const operation = template === undefined ? undefined : testedDocument.paths[template]?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  if (operation === undefined) {
    if (status < 400 && method !== 'OPTIONS') return `${call} is not documented`;
    const isError = method === 'HEAD' || status < 400 || errorSchema.safeParse(body).success;
    return isError ? undefined : `${call} has not the shape of errors`;
  }
  const response = operation.responses[status];
  if (!response) return `${call} is not documented, only ${Object.keys(operation.responses).join(', ')}`;
  const schema = response.content?.['application/json']?.schema;
  if (method === 'HEAD' || response.content === undefined) {
    return body === undefined ? undefined : `${call} has a body where none is documented`;
  }
  if (!schema) return undefined;
  const validate = validatorOf(`${method} ${template} ${status}`, schema);
  return validate(body) ? undefined : `${call} is not as documented: ${ajv.errorsText(validate.errors)}`;
}

/** Fails where the answer is not as the document says. */
export function checkResponse(method: string, path: string, status: number, body: unknown): void {
  const problem = problemOfAnswer({ method, path, status, body });
  assert.ok(problem === undefined, `${problem}: ${JSON.stringify(body)}`);
}

/** The parsed JSON, the text where it is something else, undefined where there is none. */
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
    // Only what says itself that it is an object with fields; the refinement of `code` beside Error stays open.
    if (schema.type === 'object' && schema.properties && schema.required && schema.additionalProperties === undefined) {
      schema.additionalProperties = false;
    }
    for (const child of Object.values(node)) close(child);
  }
  return node;
}
