// Option fields: generates form fields from the JSON Schema of the server, and reads their values back as request options.

export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: readonly unknown[];
  format?: string;
  contentMediaType?: string;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
};
export type OpenApi = { components?: { schemas?: Record<string, Schema> } };

export type Field = {
  /** As in error messages of the server: `registrarCredentials.address`. */
  path: string;
  title: string;
  description: string | undefined;
  required: boolean;
  default: unknown;
} & (
  | { kind: 'text' | 'secret' | 'long' }
  // Words separated by spaces or commas.
  | { kind: 'list' }
  | { kind: 'number'; min: number | undefined; max: number | undefined }
  | { kind: 'flag' }
  | { kind: 'choice'; choices: readonly string[] }
  | { kind: 'group'; fields: readonly Field[] }
);

/** Options by component type, for the types in the document. */
export function componentFields(document: OpenApi): Map<string, { description: string | undefined; fields: readonly Field[] }> {
  const schemas = document.components?.schemas ?? {};
  const { oneOf = [], anyOf = [] } = schemas.ComponentOptions ?? {};
  const found = new Map<string, { description: string | undefined; fields: readonly Field[] }>();
  for (const { properties = {} } of [...oneOf, ...anyOf]) {
    const { type, options } = properties;
    if (typeof type?.const !== 'string' || !options) continue;
    const schema = settled(options, schemas);
    found.set(type.const, { description: schema.description, fields: fieldsOf(schema, schemas, '') });
  }
  return found;
}

function fieldsOf({ properties = {}, required = [] }: Schema, schemas: Record<string, Schema>, prefix: string): Field[] {
  const fields = Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, required.includes(name), schemas, prefix));
  // Required fields first, groups of rarely used options last.
  const rank = (field: Field) => (field.required ? 0 : field.kind === 'group' ? 2 : 1);
  return fields.sort((one, other) => rank(one) - rank(other));
}

function fieldOf(name: string, schema: Schema, required: boolean, schemas: Record<string, Schema>, prefix: string): Field {
  const inner = settled(schema, schemas);
  const path = prefix + name;
  const common = {
    path,
    title: titleOf(name),
    description: schema.description ?? inner.description,
    required,
    default: schema.default ?? inner.default,
  };
  const types = [inner.type].flat();
  if (inner.properties) return { ...common, kind: 'group', fields: fieldsOf(inner, schemas, `${path}.`) };
  if (inner.enum) return { ...common, kind: 'choice', choices: inner.enum.map(String) };
  if (types.includes('boolean')) return { ...common, kind: 'flag' };
  if (types.includes('integer') || types.includes('number')) return { ...common, kind: 'number', min: inner.minimum, max: inner.maximum };
  if (types.includes('array')) return { ...common, kind: 'list' };
  if (inner.format === 'password') return { ...common, kind: 'secret' };
  return { ...common, kind: (schema.contentMediaType ?? inner.contentMediaType) ? 'long' : 'text' };
}

/** Resolves references and removes null, because an omitted option means the same. */
function settled(schema: Schema, schemas: Record<string, Schema>): Schema {
  if (schema.$ref) return settled(schemas[schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)] ?? {}, schemas);
  const [only, ...more] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return only && more.length === 0 ? { ...settled(only, schemas), ...(schema.format && { format: schema.format }) } : schema;
}

const capitals: Record<string, string> = { s3: 'S3', id: 'ID', ca: 'CA' };

/** `targetWindowDuration` -> `Target window duration`. */
function titleOf(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(' ')
    .map((word) => capitals[word] ?? word);
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export type Values = (path: string) => string | undefined;

/**
 * Options that differ from their default. An invalid number is sent unchanged, because the server returns the error message.
 * The value of a flag is `on` or undefined, as in forms.
 */
export function optionsOf(fields: readonly Field[], values: Values): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const field of fields) {
    const value = filledIn(field, values);
    if (value !== undefined) options[field.path.slice(field.path.lastIndexOf('.') + 1)] = value;
  }
  return options;
}

function filledIn(field: Field, values: Values): unknown {
  if (field.kind === 'group') {
    const inner = optionsOf(field.fields, values);
    return field.required || Object.keys(inner).length > 0 ? inner : undefined;
  }
  const text = values(field.path) ?? '';
  if (field.kind === 'flag') return (text === 'on') === (field.default === true) ? undefined : text === 'on';
  if (field.kind === 'secret' || field.kind === 'long') return text === '' ? undefined : text;
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === field.default) return undefined;
  if (field.kind === 'list') return trimmed.split(/[\s,]+/).filter((word) => word !== '');
  return field.kind === 'number' && !Number.isNaN(Number(trimmed)) ? Number(trimmed) : trimmed;
}

/** Path of the form field for the `field` of an error, for example `options.origins[0]`; undefined if the form does not have it. */
export function formFieldOf(field: string | undefined, fields: readonly Field[]): string | undefined {
  const path = field?.replace(/^options\./, '').replace(/\[.*$/, '');
  return pathsOf(fields).find((each) => each === path);
}

function pathsOf(fields: readonly Field[]): string[] {
  return fields.flatMap((field) => (field.kind === 'group' ? [field.path, ...pathsOf(field.fields)] : field.path));
}
