// docs/reference/rest-api.md: every call of the REST API and every schema of the OpenAPI document.
import type { OpenApiDocument } from '../http/openapi.ts';
import type { JsonSchema } from '../json-schemas.ts';
import { cell, fieldHead, fieldRows, typeWords } from './schema-tables.ts';
import { type Operation, operationsOf } from './sdk-types.ts';

/** Refusals that follow from authentication, limits and malformed requests, which all calls have. */
const everywhere = new Set([
  ...['bad_request', 'malformed_json', 'invalid_field', 'unsupported_media_type', 'too_large', 'too_many_requests'],
  ...['missing_token', 'invalid_token', 'forbidden', 'read_only', 'internal'],
]);

export function apiPage(document: OpenApiDocument): string {
  const operations = operationsOf(document);
  const groups = [...Map.groupBy(operations, ({ tag }) => tag)].map(([tag, calls]) => `## ${tag}\n\n${calls.map(callText).join('\n')}`);
  const schemas = Object.entries(document.components.schemas)
    .filter(([name]) => name !== 'Json' && name !== 'EventType')
    .map(([name, schema]) => schemaText(name, schema));
  return `# REST API

Made by \`npm run reference\` from the same routes and schemas that answer: do not edit. A running node serves them as OpenAPI 3.1 at \`/openapi.json\` and readable at \`/docs\`; [@mediarooms/server](../../node/sdk/README.md) has them as typed calls.

Requests carry \`Authorization: Bearer <token>\` unless a call says otherwise; those that change something need a token that may do that. What failed is answered with \`{"errors": "<one sentence>", "code": "<code>"}\`: codes that any call may have are in [Errors](errors.md), further ones are named with the call.

${groups.join('\n')}
## Schemas

${schemas.join('\n')}`;
}

function callText({ id, method, path, summary, description, open, parameters, body, responses }: Operation): string {
  const query = parameters.filter((each) => each.in === 'query');
  const rows = query.map(
    ({ name, required, schema, description: meaning }) =>
      `| \`?${name}\` | ${cell(typeWords(schema))}${required ? '' : ', optional'} | ${cell(meaning ?? '')} |`,
  );
  const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const codes = [
    ...new Set(
      Object.values(responses).flatMap(({ description: text }) => (text.startsWith('Refused: ') ? text.slice(9, -1).split(', ') : [])),
    ),
  ].filter((each) => !everywhere.has(each));
  return [
    `### \`${method} ${path}\`\n`,
    `${summary}${description === undefined ? '' : ` ${description}`} ${open ? 'Needs no token. ' : ''}(\`${id}\`)\n`,
    ...(rows.length > 0 ? [`${fieldHead.replace('field', 'parameter')}\n${rows.join('\n')}\n`] : []),
    ...(body ? [`Body${body.required ? '' : ' (may be left out)'}: ${typeWords(body.schema)}\n`] : []),
    ...answers.map(([status, { description: text, content }]) => `- ${status}: ${text}${contentWords(content)}`),
    ...(codes.length > 0 ? [`- Refused with ${codes.map((each) => `\`${each}\``).join(', ')}`] : []),
    '',
  ].join('\n');
}

function contentWords(content: Record<string, { schema?: JsonSchema }> | undefined): string {
  const [entry] = Object.entries(content ?? {});
  if (!entry) return '';
  const [type, { schema }] = entry;
  if (!schema) return ` (${type})`;
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => `${name}: ${typeWords(field)}`);
  return fields.length > 0 ? ` \`{\` ${fields.join(', ')} \`}\`` : ` ${typeWords(schema)}`;
}

function schemaText(name: string, schema: JsonSchema): string {
  const head = `### ${name}\n${schema.description === undefined ? '' : `\n${schema.description}\n`}`;
  const variants = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined;
  if (variants?.every((each) => each.properties)) {
    const tables = variants.map((each, index) => `${index === 0 ? 'One of:' : 'Or:'}\n\n${fieldHead}\n${fieldRows(each).join('\n')}\n`);
    return `${head}\n${tables.join('\n')}`;
  }
  if (schema.properties) return `${head}\n${fieldHead}\n${fieldRows(schema).join('\n')}\n`;
  return `${head}\n${typeWords(schema)}\n`;
}
