// docs/reference/media-objects.md: what the peer websocket says of media, object by object.
import { JsonSchemas } from '../json-schemas.ts';
import { mediaObjects } from '../rooms/media-objects.ts';
import { fieldHead, fieldRows } from './schema-tables.ts';

export function mediaObjectsPage(): string {
  const schemas = new JsonSchemas('#/');
  for (const schema of Object.values(mediaObjects)) schemas.input(schema);
  const parts = Object.entries(schemas.components()).map(
    ([name, schema]) => `## ${name}\n\n${schema.description}\n\n${fieldHead}\n${fieldRows(schema).join('\n')}\n`,
  );
  return `# Media objects of the peer websocket

Made by \`npm run reference\` from the schemas that messages are checked with: do not edit. The messages that hold them: [Peer protocol](protocol.md); the same schemas are in \`/asyncapi.json\` of a running node.

What a client sends is checked so; fields that are not named are dropped. Names and forms are those of ORTC and of mediasoup-client.

${parts.join('\n')}`;
}
