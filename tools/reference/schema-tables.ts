// JSON Schemas as Markdown tables: field, type with limits, meaning.
import type { JsonSchema } from '../../api/derive/json-schemas.ts';

/** The type of a schema as text; named schemas are links to their heading on the page. */
export function formatType(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    if (name === 'EventType') return '[event type](events.md#event-types)';
    return name === 'Json' ? 'any JSON' : `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return code(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map(code).join(', ');
  const parts = (schema.oneOf ?? schema.anyOf ?? schema.allOf) as JsonSchema[] | undefined;
  if (parts) return [...new Set(parts.map(formatType))].join(' or ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => formatType({ ...schema, type })).join(' or ');
  if (schema.type === 'array') {
    const limits = bounds(schema.minItems, schema.maxItems).slice(2);
    return `list${limits && ` (${limits})`} of ${schema.items ? formatType(schema.items) : 'anything'}`;
  }
  if (schema.type === 'object' && schema.properties) return 'object';
  if (schema.type === 'object')
    return typeof schema.additionalProperties === 'object' ? `object of ${formatType(schema.additionalProperties)}` : 'object';
  if (schema.type === 'string') return `string${stringLimits(schema)}`;
  return `${schema.type ?? 'anything'}${bounds(schema.minimum ?? above(schema.exclusiveMinimum), schema.maximum)}`;
}

/** Rows of the fields of a schema, followed by the fields of nested objects. */
export function fieldRows(schema: JsonSchema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const needed = schema.required?.includes(name) ? '' : ', optional';
    const standard = field.default === undefined ? '' : `, ${code(field.default)} by default`;
    const row = `| \`${prefix}${name}\` | ${tableCell(formatType(field) + needed + standard)} | ${tableCell(field.description ?? '')} |`;
    const inner = field.properties ? field : field.items?.properties ? field.items : undefined;
    return [row, ...(inner ? fieldRows(inner, `${prefix}${name}${inner === field ? '.' : '[].'}`) : [])];
  });
}

export const fieldTableHeader = '| field | type | meaning |\n|---|---|---|';

export function tableCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', '<br>');
}

function stringLimits({ format, pattern, minLength, maxLength }: JsonSchema): string {
  if (format !== undefined) return ` (${format})`;
  if (typeof pattern === 'string') return `, \`${pattern}\``;
  return bounds(minLength, maxLength, ' characters');
}

function bounds(least: unknown, most: unknown, unit = ''): string {
  const from = typeof least === 'number' && least > -Number.MAX_SAFE_INTEGER ? least : undefined;
  const to = typeof most === 'number' && most < Number.MAX_SAFE_INTEGER ? most : undefined;
  if (from !== undefined && to !== undefined) return `, ${from} to ${to}${unit}`;
  if (to !== undefined) return `, at most ${to}${unit}`;
  return from === undefined ? '' : `, at least ${from}${unit}`;
}

function above(limit: unknown): number | undefined {
  return typeof limit === 'number' ? limit + 1 : undefined;
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
