// AsyncAPI 3.0 document of both websockets, generated from the schemas that validate their messages.
import { z } from 'zod';
import { type CloseCodeName, closeCodes } from '../../api/close-codes.ts';
import { JsonSchemas } from '../../api/derive/json-schemas.ts';
import { peerSocketPath } from '../../api/peer.ts';
import { requestSchemas, responseSchemas } from '../../api/socket/peer.ts';
import { peerEventSchema } from '../../api/socket/peer-events.ts';
import { serverEventSchema, serverRequestSchemas, serverResponseSchemas, serverSocketPath } from '../../api/socket/server.ts';
import { defaultLimits } from './limits.ts';

type JsonObject = Record<string, unknown>;
type Schemas = Readonly<Record<string, z.ZodType>>;
type SocketDescription = {
  name: 'peer' | 'server';
  address: string;
  description: string;
  requests: Schemas;
  answers: Schemas;
  events: Schemas;
  closes: readonly CloseCodeName[];
};

const peerOnly: readonly CloseCodeName[] = ['peerRemoved', 'peerDenied', 'roomStopped', 'left', 'takenOver'];
const endingCodes = `${closeCodes.left.code}, ${closeCodes.peerDenied.code}, ${closeCodes.internalError.code} and ${closeCodes.takenOver.code}`;
const allCloses = Object.keys(closeCodes) as CloseCodeName[];

const sockets: readonly SocketDescription[] = [
  {
    name: 'peer',
    address: peerSocketPath,
    description: [
      `Text frames of JSON. The first request authenticates, within ${defaultLimits.authenticationTimeout / 1000} s and ${defaultLimits.firstMessageBytes} bytes;`,
      `later messages may have ${defaultLimits.messageBytes} bytes. Requests may be sent without waiting for responses; they are processed in order,`,
      `only ping is answered immediately, and requests of a peer that waits to be admitted are held. Request ids increase within a session. A failed authenticate gets an error response and closes with ${closeCodes.unauthenticated.code}.`,
      'Frames that the server sends after the response to authenticate are counted from 1 across all sockets of the session: ping {received}',
      'acknowledges them; authenticate {token, resume, received} on a new socket within the resume window returns the following ones. The client repeats',
      'its requests above lastRequest (-1: none was processed). Any lost socket may be resumed, except after leave, the codes',
      `${endingCodes}, and ${closeCodes.roomMoved.code} that asks to join again.`,
      'Frames that violate RFC 6455 close with its codes: 1002, 1008, 1009 above 1 MiB.',
    ].join(' '),
    requests: requestSchemas,
    answers: responseSchemas,
    events: Object.fromEntries(peerEventSchema.options.map((option) => [option.shape.event.value, option])),
    closes: allCloses.filter((name) => name !== 'tooSlow'),
  },
  {
    name: 'server',
    address: serverSocketPath,
    description:
      'Text frames of JSON. The first request authenticates with an API token (scope read is enough); after subscribe the events of rooms are sent as they occur.',
    requests: serverRequestSchemas,
    answers: serverResponseSchemas,
    events: { roomEvent: serverEventSchema },
    closes: allCloses.filter((name) => !peerOnly.includes(name)),
  },
];

/** The document for a node with this `host[:port][/path]`. */
export function asyncApiDocument(options: { version: string; address: string }): JsonObject {
  const schemas = new JsonSchemas('#/components/schemas/');
  const slash = options.address.indexOf('/');
  const server = {
    host: slash < 0 ? options.address : options.address.slice(0, slash),
    ...(slash < 0 ? {} : { pathname: options.address.slice(slash) }),
  };
  const messages: Record<string, JsonObject> = {};
  const operations: Record<string, JsonObject> = {};
  const channels: Record<string, JsonObject> = {};
  for (const socket of sockets) {
    const own = messagesOf(socket, schemas);
    for (const [name, message] of Object.entries(own)) messages[`${socket.name}.${name}`] = message;
    channels[socket.name] = {
      address: socket.address,
      description: socket.description,
      messages: Object.fromEntries(Object.keys(own).map((name) => [name, { $ref: `#/components/messages/${socket.name}.${name}` }])),
      'x-close-codes': socket.closes.map((name) => ({ name, ...closeCodes[name] })),
    };
    Object.assign(operations, operationsOf(socket));
  }
  return {
    asyncapi: '3.0.0',
    info: { title: 'Mediarooms websockets', version: options.version, license: { name: 'Apache-2.0' } },
    defaultContentType: 'application/json',
    servers: { node: { ...server, protocol: 'ws' }, nodeWithTls: { ...server, protocol: 'wss' } },
    channels,
    operations,
    components: { messages, schemas: schemas.components() },
  };
}

function messagesOf({ requests, answers, events }: SocketDescription, schemas: JsonSchemas): Record<string, JsonObject> {
  const messages: Record<string, JsonObject> = {};
  for (const [method, data] of Object.entries(requests)) {
    const optional = data.safeParse({}).success ? data.optional() : data;
    const request = z.strictObject({ id: z.int().min(0), method: z.literal(method), data: optional });
    messages[`${method}Request`] = { name: method, payload: schemas.input(request) };
  }
  for (const [method, data] of Object.entries(answers)) {
    const answer = z.object({ id: z.int(), ok: z.literal(true), data });
    messages[`${method}Answer`] = { name: method, payload: schemas.output(answer) };
  }
  const error = z.object({ id: z.int(), ok: z.literal(false), error: z.object({ code: z.string(), message: z.string() }) });
  messages.error = { name: 'error', title: 'Response to a failed request', payload: schemas.output(error) };
  for (const [event, schema] of Object.entries(events)) messages[`${event}Event`] = { name: event, payload: schemas.output(schema) };
  return messages;
}

function operationsOf({ name, requests, events }: SocketDescription): Record<string, JsonObject> {
  const channel = { $ref: `#/channels/${name}` };
  const message = (key: string) => ({ $ref: `#/channels/${name}/messages/${key}` });
  const operations: Record<string, JsonObject> = {};
  for (const method of Object.keys(requests)) {
    operations[`${name}.${method}`] = {
      action: 'receive',
      channel,
      messages: [message(`${method}Request`)],
      reply: { channel, messages: [message(`${method}Answer`), message('error')] },
    };
  }
  for (const event of Object.keys(events))
    operations[`${name}.${event}Event`] = { action: 'send', channel, messages: [message(`${event}Event`)] };
  return operations;
}
