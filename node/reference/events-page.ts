// docs/reference/events.md: every kind of event with its fields, and the messages of the notification socket.
import { JsonSchemas } from '../json-schemas.ts';
import { eventFields, kindsWithoutSeq } from '../rooms/event-fields.ts';
import { eventKinds, eventTypes, roomEventSchema } from '../rooms/events.ts';
import { type ServerMethod, serverAnswerSchemas, serverEventSchema, serverRequestSchemas } from '../signaling/server-messages.ts';
import { fieldHead, fieldRows, typeWords } from './schema-tables.ts';

const common = ['id', 'type', 'time', 'node', 'incarnation', 'roomId'];

export function eventsPage(): string {
  const schemas = new JsonSchemas('#/');
  schemas.output(roomEventSchema);
  const frame = schemas.output(serverEventSchema);
  const methods = (Object.keys(serverRequestSchemas) as ServerMethod[]).map((method) => ({
    method,
    request: schemas.input(serverRequestSchemas[method]),
    answer: schemas.output(serverAnswerSchemas[method]),
  }));
  const named = schemas.components();
  const rows = fieldRows(named.RoomEvent ?? {});
  const kinds = eventTypes.map((type) => `| \`${type}\` | ${fieldsOf(type)} | ${eventKinds[type]} |`);
  const parts = Object.keys(named)
    .filter((name) => ['Track', 'Kind', 'EventCall'].includes(name))
    .map((name) => {
      const schema = named[name] ?? {};
      return `### ${name}\n\n${schema.description}\n\n${schema.properties ? `${fieldHead}\n${fieldRows(schema).join('\n')}` : typeWords(schema)}\n`;
    });
  const frameSchema = named.event_roomEvent ?? frame;
  return `# Events

Made by \`npm run reference\` from the schemas that events are checked with: do not edit. A running node serves the JSON Schema of an event at \`/schemas/events.json\` and the messages of both websockets as AsyncAPI 3.0 at \`/asyncapi.json\`; [@mediarooms/server](../../node/sdk/README.md) has events typed by kind.

The same events go to [webhooks](../how-to/webhooks.md) and to the notification socket. Each has \`${common.join('`, `')}\` and, with the exceptions below, \`seq\`; which other fields it has depends on its kind.

## Kinds

| kind | further fields | when |
|---|---|---|
${kinds.join('\n')}

\`seq\` is missing in events of uploads, and in those of a room that was lost with its node: \`PeerDisconnected\` and the \`RoomCrashed\` with reason \`node_lost\`.

## Fields

${fieldHead}
${rows.filter((row) => !row.startsWith('| `type` ')).join('\n')}

${parts.join('\n')}
## The notification socket

\`/socket/server/websocket\`: JSON texts. A request is \`{"id": <number>, "method": "<method>", "data": {...}}\`; its answer \`{"id", "ok": true, "data"}\` or \`{"id", "ok": false, "error": {"code", "message"}}\`. The first request is \`authenticate\`.

${methods.map(({ method, request, answer }) => `### \`${method}\`\n\n${request.description ? `${request.description}\n\n` : ''}${part('Data', request)}${part('Answer', answer)}`).join('\n')}
### Events on the socket

${fieldHead}
${fieldRows({ ...frameSchema, properties: Object.fromEntries(Object.entries(frameSchema.properties ?? {}).map(([name, field]) => [name, name === 'data' ? { type: 'object', description: 'The event.' } : field])) }).join('\n')}
`;
}

function part(title: string, schema: Parameters<typeof fieldRows>[0]): string {
  const rows = fieldRows(schema);
  return rows.length === 0 ? `${title}: nothing.\n\n` : `${title}:\n\n${fieldHead}\n${rows.join('\n')}\n\n`;
}

function fieldsOf(type: (typeof eventTypes)[number]): string {
  const fields: readonly string[] = eventFields[type];
  const names = fields.map((field) => (field === 'origin' ? '`peerId` or `componentId`' : `\`${field}\``));
  const note =
    (kindsWithoutSeq as readonly string[]).includes(type) && type !== 'RoomCrashed' && type !== 'PeerDisconnected' ? ['no `seq`'] : [];
  return [...names, ...note].join(', ');
}
