// Spatial layers of LiveKit clients: which announcements of layers concern a single stream.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withSpatialLayers } from '../../../node/livekit/media/spatial-layers.ts';

const modesOf = (codec: string, encodings: number, layers: number) => {
  const mimeType = `video/${codec}`;
  const parameters = {
    codecs: [{ mimeType, payloadType: 100, clockRate: 90_000 }],
    encodings: Array.from({ length: encodings }, () => ({})),
  };
  const made = withSpatialLayers(parameters as unknown as Parameters<typeof withSpatialLayers>[0], layers);
  return made.encodings?.map(({ scalabilityMode }) => scalabilityMode);
};

test('a single stream of VP9 or AV1 has the announced number of layers, at most three', () => {
  assert.deepEqual(modesOf('VP9', 1, 3), ['L3T3']);
  assert.deepEqual(modesOf('AV1', 1, 2), ['L2T3']);
  assert.deepEqual(modesOf('VP9', 1, 8), ['L3T3']);
});

test('other streams keep their encodings', () => {
  for (const [codec, encodings, layers] of [
    ['VP9', 1, 1],
    ['AV1', 1, 0],
    ['VP8', 1, 3],
    ['H264', 1, 3],
  ] as const)
    assert.deepEqual(modesOf(codec, encodings, layers), [undefined]);
  assert.deepEqual(modesOf('VP9', 3, 3), [undefined, undefined, undefined]);
  assert.deepEqual(modesOf('VP9', 0, 3), []);
});
