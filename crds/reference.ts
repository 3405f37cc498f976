// docs/reference/resources.md: every field of both resources with its type, default, bounds and meaning, and every rule with its sentence.
import type { z } from 'zod';
import { type ConditionReference, mediaClusterConditions, roomConditions } from './condition-reasons.ts';
import { mediaClusterDefinition, partsOf, roomDefinition } from './definitions.ts';
import type { Rule } from './schema.ts';
import { boundsOf, defaultOf, type Json } from './structural.ts';
import { apiVersion, mediaClusterSchema, roomSchema } from './types.ts';

const introduction = `# Room and MediaCluster

Made by \`npm run crds\` from crds/*.ts: do not edit. API version \`${apiVersion}\`; both kinds have a namespace. \`kubectl explain room.spec\` shows the same.

A field without a mark may be left out; \`required\` says that what is around it needs it. \`[]\` is each item of a list, \`{}\` each value of a map. What breaks a
bound or a rule is refused by \`kubectl apply\` with the sentence that stands here, and nothing changes.`;

type Row = { path: string; schema: Json; required: boolean };

/** Every field below `schema`, in the order of the definition. */
export function rowsOf(schema: Json, path: string): Row[] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  const required = (schema.required ?? []) as string[];
  return properties.flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [{ path: at, schema: field, required: required.includes(name) }, ...rowsOf(...inside(field, at))];
  });
}

/** What has the fields of a field: itself, or the items or values in it. */
function inside(field: Json, path: string): [schema: Json, path: string] {
  if (field.items) return inside(field.items as Json, `${path}[]`);
  return field.additionalProperties ? inside(field.additionalProperties as Json, `${path}{}`) : [field, path];
}

type ToldRule = { path: string; message: string };

function ownRules(schema: Json, path: string): ToldRule[] {
  const rules = (schema['x-kubernetes-validations'] ?? []) as Rule[];
  return rules.map(({ fieldPath = '', message }) => ({ path: `${path}${fieldPath}`.replace(/^\./, ''), message }));
}

/** Every rule at and below `schema`, with the path of what it is about. */
export function rulesOf(schema: Json, path: string): ToldRule[] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  return [
    ...ownRules(schema, path),
    ...properties.flatMap(([name, field]) => rulesOf(field, path === '' ? name : `${path}.${name}`)),
    ...(schema.items ? rulesOf(schema.items as Json, `${path}[]`) : []),
    ...(schema.additionalProperties ? rulesOf(schema.additionalProperties as Json, `${path}{}`) : []),
  ];
}

function typeOf(schema: Json): string {
  if (schema.enum) return (schema.enum as string[]).map((value) => `\`${value}\``).join(', ');
  if (schema['x-kubernetes-int-or-string']) return 'amount';
  if (schema.items) return `list of ${plural(typeOf(schema.items as Json))}`;
  if (schema.additionalProperties) return `map of ${plural(typeOf(schema.additionalProperties as Json))}`;
  if (schema['x-kubernetes-preserve-unknown-fields'] && schema.type === undefined) return 'any';
  const name = schema.format === 'date-time' ? 'time' : { string: 'text', number: 'number' }[String(schema.type)];
  return (name ?? String(schema.type)) + (schema.nullable ? ' or null' : '');
}

function plural(type: string): string {
  return /^[a-z]+$/.test(type) && type !== 'text' && type !== 'any' ? `${type}s` : type;
}

function row({ path, schema, required }: Row): string {
  const isDefault = required ? 'required' : defaultOf(schema);
  const cells = [`\`${path}\``, typeOf(schema), isDefault ? code(isDefault) : '', boundsOf(schema) ?? '', String(schema.description ?? '')];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function code(value: string): string {
  return value === 'required' ? value : `\`${value}\``;
}

function section(kind: string, definition: Json, schema: z.ZodType, { conditions, reasons }: ConditionReference): string {
  const { spec, status } = partsOf(schema);
  const { shortNames, whole } = seen(definition);
  const rules = [...ownRules(whole, ''), ...rulesOf(spec, 'spec')];
  return [
    `## ${kind} (${shortNames.map((name) => `\`${name}\``).join(', ')})`,
    String(whole.description),
    ...table('### Spec', rowsOf(spec, 'spec')),
    '### Rules',
    listOf(rules),
    ...table('### Status', rowsOf(status, 'status')),
    '### Conditions',
    meanings('condition', conditions),
    meanings('reason', reasons),
  ].join('\n\n');
}

/** One line for each sentence, with all that it is about. */
function listOf(rules: readonly ToldRule[]): string {
  const byMessage = Map.groupBy(rules, ({ message }) => message);
  return [...byMessage].map(([message, about]) => `- ${about.map(({ path }) => `\`${path}\``).join(', ')}: ${message}`).join('\n');
}

function seen(definition: Json): { shortNames: string[]; whole: Json } {
  const { names, versions } = definition.spec as { names: { shortNames: string[] }; versions: { schema: { openAPIV3Schema: Json } }[] };
  return { shortNames: names.shortNames, whole: versions[0]?.schema.openAPIV3Schema ?? {} };
}

function table(title: string, rows: readonly Row[]): string[] {
  return [title, ['| field | type | default | bounds | meaning |', '|---|---|---|---|---|', ...rows.map(row)].join('\n')];
}

function meanings(of: string, words: Readonly<Record<string, string>>): string {
  return [`| ${of} | meaning |`, '|---|---|', ...Object.entries(words).map(([word, meaning]) => `| ${word} | ${meaning} |`)].join('\n');
}

/** The whole document. */
export function resourcesDocument(): string {
  const sections = [
    section('Room', roomDefinition, roomSchema, roomConditions),
    section('MediaCluster', mediaClusterDefinition, mediaClusterSchema, mediaClusterConditions),
  ];
  return `${[introduction, ...sections].join('\n\n')}\n`;
}
