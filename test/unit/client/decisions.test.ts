// Pure decisions of the client: URLs, retry delays, encodings, layers, closings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingForCode, closingForError } from '../../../packages/client/src/closing.ts';
import { Credentials } from '../../../packages/client/src/credentials.ts';
import { activateLayers, defaultEncodings, startBitrate } from '../../../packages/client/src/media/encodings.ts';
import { chooseLayers, fullSize, layersOf } from '../../../packages/client/src/media/layers.ts';
import { AdaptiveOpenTimeout } from '../../../packages/client/src/open-timeout.ts';
import { defaultTiming, retryDelay, socketUrl, socketUrls } from '../../../packages/client/src/options.ts';

test('a URL may have a web scheme or none', () => {
  assert.equal(socketUrl('host:5002/a/socket/peer/websocket', 'https:'), 'wss://host:5002/a/socket/peer/websocket');
  assert.equal(socketUrl('host:5002/socket/peer/websocket', 'http:'), 'ws://host:5002/socket/peer/websocket');
  assert.equal(socketUrl('localhost:5002/socket', undefined), 'ws://localhost:5002/socket');
  assert.equal(socketUrl('https://host/socket', 'http:'), 'wss://host/socket');
  assert.equal(socketUrl('ws://host/socket', 'https:'), 'ws://host/socket');
  assert.throws(() => socketUrl('ftp://host', undefined), TypeError);
  assert.throws(() => socketUrl('http://', undefined), TypeError);
});

test('the origin of the page is the default fallback', () => {
  const page = { protocol: 'https:', origin: 'https://app.example' };
  const [owner, own] = ['wss://owner.example/socket/peer/websocket', 'wss://app.example/socket/peer/websocket'];
  assert.deepEqual(socketUrls({ url: 'owner.example/socket/peer/websocket' }, page), [owner, own]);
  assert.deepEqual(socketUrls({ url: owner, fallbackUrls: [] }, page), [owner]);
  assert.deepEqual(socketUrls({ url: own }, page), [own]);
  assert.deepEqual(socketUrls({ url: owner }, undefined), [owner]);
  assert.deepEqual(socketUrls({ url: owner }, { protocol: 'file:', origin: 'null' }), [owner]);
});

test('if the URL contains a node number, a fallback targets any node', () => {
  const page = { protocol: 'https:', origin: 'https://app.example' };
  const [one, any] = ['wss://rooms.example:8443/n/12/socket/peer/websocket', 'wss://rooms.example:8443/socket/peer/websocket'];
  assert.deepEqual(socketUrls({ url: one }, page), [one, any, 'wss://app.example/socket/peer/websocket']);
  assert.deepEqual(socketUrls({ url: 'rooms.example:8443/n/12/socket/peer/websocket' }, undefined), [
    `ws${one.slice(3)}`,
    `ws${any.slice(3)}`,
  ]);
  assert.deepEqual(socketUrls({ url: one }, { protocol: 'https:', origin: 'https://rooms.example:8443' }), [one, any]);
  assert.deepEqual(socketUrls({ url: one, fallbackUrls: [] }, page), [one]);
  for (const url of ['wss://rooms.example/n/x/socket', 'wss://rooms.example/n/12', 'wss://rooms.example/a/n/12/socket'])
    assert.deepEqual(socketUrls({ url }, undefined), [url]);
});

test('retry delays grow from zero to five seconds and vary by a quarter', () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 100].map((attempt) => retryDelay(attempt, defaultTiming.retryDelays, 0.5));
  assert.deepEqual(delays, [0, 300, 600, 1_200, 2_400, 5_000, 5_000, 5_000]);
  assert.equal(retryDelay(5, defaultTiming.retryDelays, 0), 3_750);
  assert.equal(retryDelay(5, defaultTiming.retryDelays, 1), 6_250);
});

test('bounded retry delays vary too, so that clients of a lost server do not reconnect in step', () => {
  const { retryDelays, lostRoomPause } = defaultTiming;
  assert.equal(retryDelay(5, retryDelays, 0, lostRoomPause), Math.round(lostRoomPause * 0.75));
  assert.equal(retryDelay(5, retryDelays, 1, lostRoomPause), Math.round(lostRoomPause * 1.25));
  assert.equal(retryDelay(1, retryDelays, 0.5, lostRoomPause), 300);
});

test('the open timeout follows the last opening, and grows if none opens', () => {
  const openTimeout = new AdaptiveOpenTimeout(defaultTiming);
  assert.equal(openTimeout.limit, 5_000, 'the network is unknown');
  openTimeout.opened(60);
  assert.equal(openTimeout.limit, 600);
  openTimeout.opened(700);
  assert.equal(openTimeout.limit, 2_800);
  openTimeout.opened(60);
  const limits = [1, 2, 3, 4, 5, 6].map(() => {
    openTimeout.failed();
    return openTimeout.limit;
  });
  assert.deepEqual(limits, [600, 600, 1_200, 2_400, 4_800, 5_000]);
  openTimeout.opened(60);
  assert.equal(openTimeout.limit, 600);
  openTimeout.forget();
  assert.equal(openTimeout.limit, 5_000);
});

test('cameras get several simulcast sizes, screens one', () => {
  const camera = { simulcast: true, codec: undefined, screen: false };
  const scales = (width: number, height: number) =>
    defaultEncodings({ ...camera, width, height }).map((encoding) => encoding.scaleResolutionDownBy);
  assert.deepEqual(scales(1280, 720), [4, 2, 1]);
  assert.deepEqual(scales(640, 360), [2, 1]);
  assert.deepEqual(scales(320, 180), [undefined]);
  const [small, middle, large] = defaultEncodings({ ...camera, width: 1280, height: 720 });
  assert.ok(small?.maxBitrate && middle?.maxBitrate && large?.maxBitrate);
  assert.ok(small.maxBitrate < middle.maxBitrate && middle.maxBitrate < large.maxBitrate);
  assert.equal(defaultEncodings({ ...camera, screen: true, simulcast: false, width: 1920, height: 1080 }).length, 1);
  assert.deepEqual(defaultEncodings({ ...camera, codec: 'vp9', width: 1280, height: 720 }), [{ scalabilityMode: 'L3T3_KEY' }]);
  assert.deepEqual(defaultEncodings({ ...camera, codec: 'vp9', screen: true, width: 1920, height: 1080 }), [{ scalabilityMode: 'L1T3' }]);
});

test('the initial bitrate covers the large layer, and is between the browser default and 2 Mbit/s', () => {
  assert.equal(startBitrate([{ maxBitrate: 140_000 }, { maxBitrate: 550_000 }, { maxBitrate: 2_200_000 }]), 1_790);
  assert.equal(startBitrate([{ maxBitrate: 150_000 }]), 300);
  assert.equal(startBitrate([{ maxBitrate: 1_000_000 }, { maxBitrate: 4_000_000 }]), 2_000);
  assert.equal(startBitrate([{ scalabilityMode: 'L3T3_KEY' }]), 1_000);
});

test('layers are parsed from the scalability mode', () => {
  assert.deepEqual(layersOf('L3T3'), { spatial: 3, temporal: 3 });
  assert.deepEqual(layersOf('S2T1'), { spatial: 2, temporal: 1 });
  assert.deepEqual(layersOf('L3T2_KEY'), { spatial: 3, temporal: 2 });
  assert.deepEqual(layersOf(undefined), { spatial: 1, temporal: 1 });
});

test('the smallest layer that fills the element is selected', () => {
  const modes = { spatial: 3, temporal: 3 };
  const full = { width: 1280, height: 720 };
  const spatial = (width: number, height: number) => chooseLayers(modes, full, { width, height }).spatialLayer;
  assert.equal(spatial(160, 90), 0);
  assert.equal(spatial(400, 225), 0, 'a quarter more than the small layer is acceptable');
  assert.equal(spatial(640, 360), 1);
  assert.equal(spatial(1280, 720), 2);
  assert.equal(spatial(3840, 2160), 2);
  assert.equal(spatial(1280, 90), 0, 'the video is fitted into a low element');
  assert.deepEqual(chooseLayers(modes, full, { width: 0, height: 0 }), { spatialLayer: 0, temporalLayer: 0 });
  assert.equal(chooseLayers(modes, full, { width: 640, height: 360 }).temporalLayer, 2);
});

test('the size of the largest layer is derived from the received layer', () => {
  assert.deepEqual(fullSize({ width: 320, height: 180 }, 0, 3), { width: 1280, height: 720 });
  assert.deepEqual(fullSize({ width: 1280, height: 720 }, 2, 3), { width: 1280, height: 720 });
});

test('only final close codes and rejections close a session', () => {
  for (const code of [1001, 1005, 1006, 1011, 4400, 4408, 4413, 4429]) assert.equal(closingForCode(code, ''), undefined, `code ${code}`);
  assert.equal(closingForCode(1000, '')?.reason, 'left');
  assert.equal(closingForError({ code: 'conflict', message: 'Peer is already connected' }, false)?.reason, 'conflict');
  assert.equal(closingForError({ code: 'node_unreachable', message: '' }, false), undefined);
  assert.equal(closingForError({ code: 'peer_not_found', message: '' }, false)?.reason, 'notFound');
});

test('a client authenticates with exactly one of token and accessToken, and then with the token that the server sent', () => {
  assert.throws(() => new Credentials({}), TypeError);
  assert.throws(() => new Credentials({ token: 'a', accessToken: 'b' }), TypeError);
  for (const given of [{ token: 'a' }, { accessToken: 'a' }]) {
    const credentials = new Credentials(given);
    assert.deepEqual(credentials.current(), given);
    credentials.renewed('b');
    assert.deepEqual(credentials.current(), { token: 'b' });
  }
});

test('layers up to the needed one are sent, except those that the application published inactive', () => {
  const sent = (top: number | null, published: { active?: boolean }[] = []) => {
    const encodings = [{ active: true }, { active: false }, {}] as { active?: boolean }[];
    activateLayers(encodings, top, published);
    return encodings.map(({ active }) => active);
  };
  assert.deepEqual(sent(null), [false, false, false]);
  assert.deepEqual(sent(0), [true, false, false]);
  assert.deepEqual(sent(7), [true, true, true]);
  assert.deepEqual(sent(2, [{}, { active: false }, { active: true }]), [true, false, true]);
});
