// Who asks, behind proxies that are trusted and others.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { clientOf } from '../../../node/http/client-address.ts';

const trusted = (address: string) => address.startsWith('10.');

for (const [from, header, client] of [
  ['192.0.2.1', undefined, '192.0.2.1'],
  ['192.0.2.1', '198.51.100.7', '192.0.2.1'],
  ['10.0.0.1', '198.51.100.7', '198.51.100.7'],
  ['10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
  ['10.0.0.1', '198.51.100.7, 10.0.0.2', '198.51.100.7'],
  ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['10.0.0.1', ' , ', '10.0.0.1'],
  ['10.0.0.1', undefined, '10.0.0.1'],
] as const) {
  test(`from ${from} with x-forwarded-for ${header ?? 'missing'} the client is ${client}`, () => {
    const socket = { remoteAddress: from } as Socket;
    assert.equal(clientOf({ socket, headers: header === undefined ? {} : { 'x-forwarded-for': header } }, trusted), client);
  });
}
