// Data channels: closing during opening, and lost sessions.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { types } from 'mediasoup-client';
import { DataChannel } from '../../../packages/client/src/data-channel.ts';
import type { MediaSession } from '../../../packages/client/src/media/media-session.ts';
import type { Request } from '../../../packages/client/src/media/transport-requests.ts';

function opening(closed: boolean) {
  const asked: unknown[] = [];
  const request = (async (method: string, data: unknown) => {
    asked.push([method, data]);
    return {};
  }) as unknown as Request;
  const channel = new DataChannel('chat', {}, request, () => {});
  channel.opened.catch(() => {});
  const made = Promise.withResolvers<types.DataProducer>();
  const session = { closed, produceData: () => made.promise } as unknown as MediaSession;
  const opened = channel.openOver(session);
  let isClosed = false;
  const close = () => {
    isClosed = true;
  };
  const producer = Object.assign(new EventEmitter(), { id: 'data-1', readyState: 'open', close }) as unknown as types.DataProducer;
  return { channel, asked, opened, open: () => made.resolve(producer), isClosed: () => isClosed };
}

test('a data channel closed while opening is unpublished once it is open', async () => {
  const { channel, asked, opened, open, isClosed } = opening(false);
  channel.close();
  assert.deepEqual(asked, []);
  open();
  await opened;
  assert.deepEqual(asked, [['unpublishData', { dataTrackId: 'data-1' }]]);
  assert.ok(isClosed());
});

test('a data channel of a lost session is not unpublished', async () => {
  const { channel, asked, opened, open, isClosed } = opening(true);
  open();
  await opened;
  assert.deepEqual([asked, isClosed(), channel.readyState], [[], true, 'connecting']);
});
