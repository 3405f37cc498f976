// AsyncAPI document: completeness for both websockets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { closeCodes } from '../../../api/close-codes.ts';
import { eventTypes } from '../../../api/events.ts';
import { requestSchemas, responseSchemas } from '../../../api/socket/peer.ts';
import { peerEventSchema } from '../../../api/socket/peer-events.ts';
import { serverRequestSchemas } from '../../../api/socket/server.ts';
import { asyncApiDocument } from '../../../node/signaling/asyncapi.ts';
import { fieldsOf } from '../../kit/fields.ts';

type Document = {
  asyncapi: string;
  servers: Record<string, { host: string; pathname?: string; protocol: string }>;
  channels: Record<
    string,
    { address: string; messages: Record<string, { $ref: string }>; 'x-close-codes': { code: number; reason: string }[] }
  >;
  operations: Record<string, { action: string; channel: { $ref: string } }>;
  components: { messages: Record<string, { payload: object }>; schemas: Record<string, object> };
};
const document = asyncApiDocument({ version: '0.7.0', address: 'media.example.com:5002/rooms' }) as Document;

const at = (reference: string) =>
  reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);

test('the document is AsyncAPI 3.0 with both channels and the address of the node', () => {
  assert.equal(document.asyncapi, '3.0.0');
  assert.deepEqual(document.servers.node, { host: 'media.example.com:5002', pathname: '/rooms', protocol: 'ws' });
  assert.deepEqual(fieldsOf(Object.values(document.channels), 'address'), ['/socket/peer/websocket', '/socket/server/websocket']);
});

test('every method and every event of both sockets is an operation with its messages', () => {
  const methods = [
    ...Object.keys(requestSchemas).map((each) => `peer.${each}`),
    ...Object.keys(serverRequestSchemas).map((each) => `server.${each}`),
  ];
  const events = [...peerEventSchema.options.map((option) => `peer.${option.shape.event.value}Event`), 'server.roomEventEvent'];
  assert.deepEqual(Object.keys(document.operations).sort(), [...methods, ...events].sort());
  for (const name of methods) {
    assert.equal(document.operations[name]?.action, 'receive');
    assert.ok(document.components.messages[`${name}Request`] && document.components.messages[`${name}Answer`], name);
  }
  for (const name of events) assert.equal(document.operations[name]?.action, 'send');
});

test('every close code is in the document', () => {
  const shown = Object.values(document.channels).flatMap((channel) =>
    channel['x-close-codes'].map(({ code, reason }) => `${code} ${reason}`),
  );
  assert.deepEqual(new Set(shown), new Set(Object.values(closeCodes).map(({ code, reason }) => `${code} ${reason}`)));
});

test('every reference resolves', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '');
  assert.ok(references.length > 100);
  for (const reference of new Set(references)) assert.equal(typeof at(reference), 'object', reference);
});

test('the schemas of the document accept the same messages as the sockets', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'document', components: { schemas: document.components.schemas } });
  const check = (message: string, value: unknown) => {
    const payload = JSON.parse(
      JSON.stringify(document.components.messages[message]?.payload).replaceAll('#/components', 'document#/components'),
    );
    return ajv.compile(payload)(value);
  };
  const publish = (kind: string, rtpParameters: object) =>
    check('peer.publishRequest', { id: 1, method: 'publish', data: { transportId: 't', kind, rtpParameters } });
  const opus = { mimeType: 'audio/opus', payloadType: 100, clockRate: 48_000, channels: 2 };
  assert.equal(publish('audio', { codecs: [opus] }), true);
  assert.equal(publish('film', { codecs: [opus] }), false);
  assert.equal(publish('audio', { codecs: [{ ...opus, payloadType: 128 }] }), false);
  assert.equal(check('peer.leaveRequest', { id: 1, method: 'leave' }), true);
  assert.equal(check('peer.dataEvent', { event: 'data', data: { from: null, label: 'l', payload: { deep: [1] } } }), true);
  const event = { id: 'e', type: eventTypes[0], time: '2026-11-21T00:00:00.000Z', seq: 1, node: 'n', incarnation: 'i', roomId: 'r' };
  assert.equal(check('server.roomEventEvent', { event: 'roomEvent', source: 'n#1', index: 1, data: event }), true);
  assert.equal(check('server.roomEventEvent', { event: 'roomEvent', data: { ...event, type: 'Nothing' } }), false);
});

test('every object has its fields in the document, except application data', () => {
  const open: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, properties, additionalProperties } = node as Record<string, unknown>;
    if (
      type === 'object' &&
      !properties &&
      (typeof additionalProperties !== 'object' || Object.keys(additionalProperties ?? {}).length === 0)
    )
      open.push(path);
    for (const [key, child] of Object.entries(node)) visit(child, `${path}/${key}`);
  };
  visit(document.components, '');
  assert.deepEqual(open, []);
});

test('requests and responses are described for the same methods', () => {
  assert.deepEqual(Object.keys(responseSchemas), Object.keys(requestSchemas));
});
