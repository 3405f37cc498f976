// Migration of a room client: new transports in the same session, after the server lost its media.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import { testFakeParameters } from 'mediasoup-client';
import { eventually } from '../../kit/eventually.ts';
import { joinedWithMedia } from './media-kit.ts';

test('after a loss of its media, the client opens new transports and publishes its tracks with the same keys', async (t) => {
  const { socket, published, room, reported, until } = await joinedWithMedia(t);
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }), { metadata: { source: 'microphone' } });
  const video = await room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  await video.pause();
  const ids = new Map(published.map((data, index) => ['key' in data ? data.key : '', [audio.id, video.id][index]]));
  const transports: string[] = [];
  socket
    .automatically('createTransport', ({ data }) => {
      const id = `new-${'direction' in data ? data.direction : ''}`;
      transports.push(id);
      return { ...testFakeParameters.generateTransportRemoteParameters(), id };
    })
    .automatically('publish', ({ data }) => {
      published.push(data);
      return { trackId: ids.get('key' in data ? data.key : '') };
    });
  published.length = 0;
  socket.event('migrate', { reason: 'lost' });
  await eventually('both tracks are published again', () => published.length === 2);
  assert.deepEqual(transports.sort(), ['new-recv', 'new-send']);
  assert.deepEqual(
    published.map((data) => ('transportId' in data && 'paused' in data ? [data.transportId, data.paused] : undefined)),
    [
      ['new-send', false],
      ['new-send', true],
    ],
  );
  await audio.setMetadata('after');
  assert.deepEqual([room.state, room.localTracks.map(({ id }) => id)], ['joined', [...ids.values()]]);
  assert.deepEqual(
    reported.filter(({ name }) => name === 'localTrackEnded' || name === 'closed'),
    [],
  );
  socket.event('migrate', { reason: 'lost' });
  socket.event('migrate', { reason: 'lost' });
  await eventually('each loss is followed by new transports', () => transports.length === 6);
  socket.event('draining', { deadline: null });
  await until('draining');
  assert.equal(room.state, 'joined');
});
