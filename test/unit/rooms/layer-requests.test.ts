// Layer requests: which layers a publisher is requested to send, and when.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { layerPauseDelayMs, layerStep } from '../../../node/rooms/peers/layer-requests.ts';
import { flushEvents, makePair } from '../../kit/fakes/rooms.ts';

test('more layers are requested now, fewer later', () => {
  const steps = [
    [2, 2, 'none'],
    [undefined, undefined, 'none'],
    [2, 0, 'now'],
    [0, undefined, 'now'],
    [0, 2, 'later'],
    [undefined, 0, 'later'],
  ] as const;
  for (const [needed, requested, step] of steps) assert.equal(layerStep(needed, requested), step);
});

describe('the publisher of a video with three layers', () => {
  async function start(t: TestContext, stopsLayers = true) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { media, alice } = await makePair();
    const { publications } = alice.peer.session;
    publications.client.stopsLayers = stopsLayers;
    publications.client.migrates = true;
    const request = { kind: 'video', rtpParameters: { encodings: [{}, {}, {}] }, key: 'camera', paused: false } as const;
    const publish = async (transportId: string) => (await publications.publish({ ...request, transportId })).trackId;
    const trackId = await publish(alice.send);
    const need = (layer: number | undefined) => publications.layerNeeded(trackId, layer);
    const requests = () => {
      const sent = alice.connection.of('layersWanted');
      alice.connection.events.length = 0;
      for (const request of sent) assert.equal(request.trackId, trackId);
      return sent.map(({ spatialLayer }) => spatialLayer);
    };
    return { media, alice, publications, publish, trackId, need, requests, wait: (time: number) => t.mock.timers.tick(time) };
  }

  test('stops layers after a delay and starts them at once', async (t) => {
    const { need, requests, wait } = await start(t);
    need(undefined);
    wait(layerPauseDelayMs - 1);
    assert.deepEqual(requests(), []);
    wait(1);
    assert.deepEqual(requests(), [null]);
    need(7);
    assert.deepEqual(requests(), [2]);
    need(0);
    need(1);
    wait(layerPauseDelayMs);
    assert.deepEqual(requests(), [1]);
  });

  test('gets no request while receivers need all layers', async (t) => {
    const { need, requests, wait } = await start(t);
    need(undefined);
    for (const layer of [7, 2, 5]) {
      need(layer);
      wait(layerPauseDelayMs);
    }
    assert.deepEqual(requests(), []);
  });

  test('gets no request if its client does not support it, or its track has ended', async (t) => {
    const without = await start(t, false);
    without.need(undefined);
    without.wait(layerPauseDelayMs);
    assert.deepEqual(without.requests(), []);
    t.mock.timers.reset();
    const { publications, trackId, need, requests, wait } = await start(t);
    need(undefined);
    publications.removeTrack(trackId);
    need(undefined);
    wait(layerPauseDelayMs);
    assert.deepEqual(requests(), []);
  });

  test('begins with all layers again after a loss of its media', async (t) => {
    const { media, alice, publish, trackId, need, requests, wait } = await start(t);
    need(undefined);
    wait(layerPauseDelayMs);
    assert.deepEqual(requests(), [null]);
    need(undefined);
    media.room('r').lose('alice');
    const { id } = await alice.peer.session.createTransport('send', { sctp: true });
    assert.equal(await publish(String(id)), trackId);
    await flushEvents();
    need(2);
    assert.deepEqual(requests(), []);
    need(0);
    wait(layerPauseDelayMs);
    assert.deepEqual(requests(), [0]);
  });
});
