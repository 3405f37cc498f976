// Documented responses: which body each operation may send with each status, and validators of these bodies.
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../../../api/derive/json-schemas.ts';
import { openApiDocument } from '../../../node/http/openapi.ts';
import { routes } from '../../../node/http/routes/routes.ts';

type Validator = { (body: unknown): boolean; errors?: readonly { instancePath: string; message?: string }[] | null | undefined };

export type DocumentedAnswers = {
  /** By template, method and status: `nothing`, `text` if it is no JSON, or the name of a validator. */
  responses: Record<string, Record<string, Record<string, string>>>;
  validators: Record<string, Validator>;
};

/** The document with closed response schemas: an undocumented field is an error here. */
export const testedDocument = close(openApiDocument(routes, { version: 'test', path: '' }));

/** Compiles each validator when it is used. */
export function documentedAnswers(): DocumentedAnswers {
  const { responses, schemas } = namedSchemas();
  const ajv = ajvOf(schemas);
  const get = (_: object, name: string) => ajv.getSchema(name);
  return { responses, validators: new Proxy({}, { get }) };
}

/** @returns the code of a CommonJS module that exports DocumentedAnswers with compiled validators */
export function answersModule(): string {
  const { responses, schemas } = namedSchemas();
  const names = Object.fromEntries([...schemas.keys()].map((name) => [name, name]));
  const code = standalone.default(ajvOf(schemas, true), names);
  return `${code}\nmodule.exports = { validators: { ...module.exports }, responses: ${JSON.stringify(responses)} };\n`;
}

/** Equal schemas have one name. */
function namedSchemas() {
  const names = new Map<string, string>();
  const nameOf = (schema: JsonSchema) => {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
    const name = names.get(text) ?? `answer${names.size}`;
    names.set(text, name);
    return name;
  };
  const responses: DocumentedAnswers['responses'] = {};
  for (const [template, operations] of Object.entries(testedDocument.paths)) {
    const ofTemplate: Record<string, Record<string, string>> = {};
    responses[template] = ofTemplate;
    for (const [method, operation] of Object.entries(operations)) {
      const contents = Object.entries(operation.responses).map(([status, { content }]) => {
        const schema = content?.['application/json']?.schema;
        return [status, schema ? nameOf(schema) : content ? 'text' : 'nothing'];
      });
      ofTemplate[method] = Object.fromEntries(contents);
    }
  }
  return { responses, schemas: new Map([...names].map(([text, name]) => [name, JSON.parse(text) as object])) };
}

/** @param source whether validators keep their code */
function ajvOf(schemas: ReadonlyMap<string, object>, source = false): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, allErrors: true, strictTypes: false, meta: false, validateSchema: false, code: { source } });
  addFormats.default(ajv);
  ajv.addVocabulary(['securitySchemes', 'components', 'schemas']);
  ajv.addSchema({ $id: 'document', components: testedDocument.components } as object, 'document');
  for (const [name, schema] of schemas) ajv.addSchema(schema, name);
  return ajv;
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
