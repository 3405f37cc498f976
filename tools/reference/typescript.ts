// JSON Schemas as TypeScript types for the SDK and the browser client. An unknown construct is an error, never `unknown`.
import type { JsonSchema } from '../../api/derive/json-schemas.ts';

/** The type of a schema; a reference becomes the last part of its path. @throws Error if the schema has an unsupported construct */
export function typeText(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return union(schema.enum.map((value) => JSON.stringify(value)));
  for (const [keyword, joint] of joints) {
    const parts = schema[keyword];
    if (Array.isArray(parts)) return [...new Set(parts.map((part) => wrapped(typeText(part))))].join(joint);
  }
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeText({ ...schema, type })));
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return schema.items ? `${wrapped(typeText(schema.items))}[]` : fail(schema);
    case 'object':
      return objectText(schema);
    default:
      return fail(schema);
  }
}

/** A declaration of each schema with a name. */
export function schemaTypes(schemas: Record<string, JsonSchema>): string {
  const types = Object.entries(schemas).map(([name, schema]) => {
    // Event types are described in events.ts.
    const description = name === 'EventType' ? undefined : schema.description;
    return `${comment(description)}export type ${name} = ${name === 'Json' ? jsonType : typeText(schema)};\n`;
  });
  return types.join('\n');
}

const jsonType = 'string | number | boolean | null | Json[] | { [key: string]: Json }';

const joints = [
  ['oneOf', ' | '],
  ['anyOf', ' | '],
  ['allOf', ' & '],
] as const;

function objectText({ properties, required = [], additionalProperties }: JsonSchema): string {
  if (!properties || Object.keys(properties).length === 0) {
    const isMap = typeof additionalProperties === 'object' && !isOpen(additionalProperties);
    if (additionalProperties === false) return 'Record<string, never>';
    return `Record<string, ${isMap ? typeText(additionalProperties) : 'unknown'}>`;
  }
  const lines = Object.entries(properties).map(([name, schema]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `${comment(schema.description)}${key}${required.includes(name) ? '' : '?'}: ${typeText(schema)};\n`;
  });
  // Further fields are possible.
  if (isOpen(additionalProperties)) lines.push('[field: string]: unknown;\n');
  return `{\n${lines.join('')}}`;
}

function isOpen(additionalProperties: JsonSchema['additionalProperties']): boolean {
  return typeof additionalProperties === 'object' && Object.keys(additionalProperties).length === 0;
}

/** `/** … *\/` and a new line, or nothing. */
export function comment(text: string | undefined): string {
  if (text === undefined) return '';
  const lines = text.replaceAll('*/', '*\\/').split('\n');
  return lines.length === 1 ? `/** ${lines[0]} */\n` : `/**\n${lines.map((line) => ` * ${line}\n`).join('')} */\n`;
}

function union(types: string[]): string {
  return types.join(' | ');
}

function wrapped(type: string): string {
  return /[|&]/.test(type) && !type.startsWith('{') ? `(${type})` : type;
}

function fail(schema: JsonSchema): never {
  throw new Error(`Schema cannot be converted to TypeScript: ${JSON.stringify(schema).slice(0, 300)}`);
}
