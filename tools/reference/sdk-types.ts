// The generated part of the SDK: types of the OpenAPI document, its operations, and events by kind.

import type { JsonSchema } from '../../node/common/json-schemas.ts';
import type { OpenApiDocument, OpenApiOperation } from '../../node/http/openapi.ts';
import { eventFields, unsequencedEventTypes } from '../../node/rooms/shapes/event-fields.ts';
import { type EventType, eventDescriptions, eventTypes } from '../../node/rooms/shapes/events.ts';
import { comment, typeText } from './typescript.ts';

type Parameter = { name: string; in: 'path' | 'query'; required: boolean; description?: string; schema: JsonSchema };
export type Operation = {
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string | undefined;
  /** No token is needed. */
  open: boolean;
  parameters: Parameter[];
  body: { schema: JsonSchema; required: boolean } | undefined;
  responses: OpenApiOperation['responses'];
};

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const body = operation.requestBody as { required: boolean; content: Record<string, { schema: JsonSchema }> } | undefined;
      return {
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        tag: (operation.tags as string[])[0] ?? '',
        summary: operation.summary as string,
        description: operation.description as string | undefined,
        open: (operation.security as object[]).length === 0,
        parameters: (operation.parameters ?? []) as Parameter[],
        body: body && { schema: body.content['application/json']?.schema ?? {}, required: body.required },
        responses: operation.responses,
      };
    }),
  );
}

const made = 'made by `npm run reference` from the OpenAPI document: do not edit.';

/** Every schema of the document, in the order of their names. */
export function schemasText({ components }: OpenApiDocument): string {
  const types = Object.entries(components.schemas).map(([name, schema]) => {
    const { description } = schema;
    // Kinds of events have their words in events.ts.
    const words = name === 'EventType' ? undefined : description;
    return `${comment(words)}export type ${name} = ${name === 'Json' ? jsonType : typeText(schema)};\n`;
  });
  return `// What the server takes and answers, ${made}\n\n${types.join('\n')}`;
}

const jsonType = 'string | number | boolean | null | Json[] | { [key: string]: Json }';

/** Method and path of each operation, and its types. */
export function operationsText(document: OpenApiDocument): string {
  // What needs no token is for people, probes and the console.
  const operations = operationsOf(document).filter(({ open }) => !open);
  const table = operations.map(({ id, method, path }) => `${id}: { method: '${method}', path: '${path}' },\n`);
  const types = operations.map((operation) => {
    const { id, summary, parameters, body } = operation;
    const query = parameters.filter((each) => each.in === 'query');
    const fields = query.map((each) => `${comment(each.description)}${each.name}${each.required ? '' : '?'}: ${typeText(each.schema)};\n`);
    const parts = [
      ...(fields.length > 0 ? [`query: {\n${fields.join('')}};\n`] : []),
      ...(body ? [`body: ${typeText(body.schema)}${body.required ? '' : ' | undefined'};\n`] : []),
      `answer: ${answerText(operation)};\n`,
    ];
    return `${comment(summary)}${id}: {\n${parts.join('')}};\n`;
  });
  const text = `export const operations = {\n${table.join('')}} as const satisfies Record<string, { method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; path: string }>;

export type OperationId = keyof typeof operations;

/** By operation: its query and body, and the body of what it answers. */
export type Operations = {\n${types.join('')}};\n`;
  const names = Object.keys(document.components.schemas).filter((name) => new RegExp(`\\b${name}\\b`).test(types.join('')));
  return `// Every call of the REST API, ${made}\nimport type { ${names.join(', ')} } from './schemas.ts';\n\n${text}`;
}

function answerText({ responses }: Operation): string {
  const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const types = answers.flatMap(([, { content }]) => {
    if (!content) return ['undefined'];
    const { schema } = content['application/json'] ?? {};
    return schema ? [typeText(schema)] : [];
  });
  // Files are no JSON: whoever asks for one reads the response.
  if (types.length === 0) return 'never';
  return [...new Set(types)].join(' | ');
}

/** Events as a union that `type` tells apart. */
export function eventsText({ components }: OpenApiDocument): string {
  const { type: _, ...properties } = components.schemas.RoomEvent?.properties ?? {};
  const base = typeText({ ...components.schemas.RoomEvent, properties });
  const kinds = eventTypes.map((type) => `${comment(eventDescriptions[type])}${type}: ${kindText(type)};\n`);
  const names = Object.keys(components.schemas).filter((name) => new RegExp(`: [^;]*\\b${name}\\b`).test(base));
  return `// Events of rooms by kind, made by \`npm run reference\` from the schema of events: do not edit.
import type { ${names.join(', ')} } from './schemas.ts';

/** What events have; which of the optional fields are there depends on the kind. */
export type EventFields = ${base};

type Kind<Type extends string, Fields extends keyof EventFields> = EventFields & { type: Type } & Required<Pick<EventFields, Fields>>;
/** Of a peer or of a component. */
type Origin = { peerId: string } | { componentId: string };

/** Every kind of event. */
export type RoomEvents = {\n${kinds.join('')}};

export type RoomEventType = keyof RoomEvents;

/** Something that happened in a room: \`type\` says what, and which fields it has. Later versions may add kinds. */
export type RoomEvent = RoomEvents[RoomEventType];
`;
}

function kindText(type: EventType): string {
  const fields: readonly string[] = eventFields[type];
  const withoutSeq = (unsequencedEventTypes as readonly string[]).includes(type);
  const always = [...(withoutSeq ? [] : ['seq']), ...fields.filter((field) => field !== 'origin')];
  const keys = always.length === 0 ? 'never' : always.map((field) => `'${field}'`).join(' | ');
  return `Kind<'${type}', ${keys}>${fields.includes('origin') ? ' & Origin' : ''}`;
}
