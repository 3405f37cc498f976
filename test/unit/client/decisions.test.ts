// Decisions of the client library: URLs, pauses, encodings, layers, endings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingForCode, closingForError } from '../../../packages/client/src/closing.ts';
import { defaultEncodings, startBitrate } from '../../../packages/client/src/media/encodings.ts';
import { chooseLayers, fullSize, layersOf } from '../../../packages/client/src/media/layers.ts';
import { AdaptiveOpenTimeout } from '../../../packages/client/src/open-timeout.ts';
import { defaultTiming, retryDelay, socketUrl, socketUrls } from '../../../packages/client/src/options.ts';

test('a URL may have any scheme of the web or none', () => {
  assert.equal(socketUrl('host:5002/a/socket/peer/websocket', 'https:'), 'wss://host:5002/a/socket/peer/websocket');
  assert.equal(socketUrl('host:5002/socket/peer/websocket', 'http:'), 'ws://host:5002/socket/peer/websocket');
  assert.equal(socketUrl('localhost:5002/socket', undefined), 'ws://localhost:5002/socket');
  assert.equal(socketUrl('https://host/socket', 'http:'), 'wss://host/socket');
  assert.equal(socketUrl('ws://host/socket', 'https:'), 'ws://host/socket');
  assert.throws(() => socketUrl('ftp://host', undefined), TypeError);
  assert.throws(() => socketUrl('http://', undefined), TypeError);
});

test('the own origin of a page is the fall-back unless others are named', () => {
  const page = { protocol: 'https:', origin: 'https://app.example' };
  const [owner, own] = ['wss://owner.example/socket/peer/websocket', 'wss://app.example/socket/peer/websocket'];
  assert.deepEqual(socketUrls({ url: 'owner.example/socket/peer/websocket' }, page), [owner, own]);
  assert.deepEqual(socketUrls({ url: owner, fallbackUrls: [] }, page), [owner]);
  assert.deepEqual(socketUrls({ url: own }, page), [own]);
  assert.deepEqual(socketUrls({ url: owner }, undefined), [owner]);
  assert.deepEqual(socketUrls({ url: owner }, { protocol: 'file:', origin: 'null' }), [owner]);
});

test('where the URL leads to one node by its number, one of the fall-backs leads to any', () => {
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

test('pauses grow from nothing to five seconds and vary by a quarter', () => {
  const delays = [0, 1, 2, 3, 4, 5, 6, 100].map((attempt) => retryDelay(attempt, defaultTiming.retryDelays, 0.5));
  assert.deepEqual(delays, [0, 300, 600, 1_200, 2_400, 5_000, 5_000, 5_000]);
  assert.equal(retryDelay(5, defaultTiming.retryDelays, 0), 3_750);
  assert.equal(retryDelay(5, defaultTiming.retryDelays, 1), 6_250);
});

test('pauses that are bounded vary as well, so that those who lost the same server do not come in step', () => {
  const { retryDelays, lostRoomPause } = defaultTiming;
  assert.equal(retryDelay(5, retryDelays, 0, lostRoomPause), Math.round(lostRoomPause * 0.75));
  assert.equal(retryDelay(5, retryDelays, 1, lostRoomPause), Math.round(lostRoomPause * 1.25));
  assert.equal(retryDelay(1, retryDelays, 0.5, lostRoomPause), 300);
});

test('a socket has as long to open as the last one lets expect, and longer where none opens', () => {
  const openTimeout = new AdaptiveOpenTimeout(defaultTiming);
  assert.equal(openTimeout.limit, 5_000, 'nothing is known of the network');
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

test('cameras are sent in as many sizes as make sense, screens in one', () => {
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

test('video starts at a rate that carries the large layer, and never above 2 Mbit/s or below what browsers begin with', () => {
  assert.equal(startBitrate([{ maxBitrate: 140_000 }, { maxBitrate: 550_000 }, { maxBitrate: 2_200_000 }]), 1_790);
  assert.equal(startBitrate([{ maxBitrate: 150_000 }]), 300);
  assert.equal(startBitrate([{ maxBitrate: 1_000_000 }, { maxBitrate: 4_000_000 }]), 2_000);
  assert.equal(startBitrate([{ scalabilityMode: 'L3T3_KEY' }]), 1_000);
});

test('the layers of a track are read from its scalability mode', () => {
  assert.deepEqual(layersOf('L3T3'), { spatial: 3, temporal: 3 });
  assert.deepEqual(layersOf('S2T1'), { spatial: 2, temporal: 1 });
  assert.deepEqual(layersOf('L3T2_KEY'), { spatial: 3, temporal: 2 });
  assert.deepEqual(layersOf(undefined), { spatial: 1, temporal: 1 });
});

test('the smallest layer that fills its place is chosen', () => {
  const modes = { spatial: 3, temporal: 3 };
  const full = { width: 1280, height: 720 };
  const spatial = (width: number, height: number) => chooseLayers(modes, full, { width, height }).spatialLayer;
  assert.equal(spatial(160, 90), 0);
  assert.equal(spatial(400, 225), 0, 'a quarter more than the small layer is good enough');
  assert.equal(spatial(640, 360), 1);
  assert.equal(spatial(1280, 720), 2);
  assert.equal(spatial(3840, 2160), 2);
  assert.equal(spatial(1280, 90), 0, 'the picture is fitted into a low place');
  assert.deepEqual(chooseLayers(modes, full, { width: 0, height: 0 }), { spatialLayer: 0, temporalLayer: 0 });
  assert.equal(chooseLayers(modes, full, { width: 640, height: 360 }).temporalLayer, 2);
});

test('the size of the largest layer follows from the one that is received', () => {
  assert.deepEqual(fullSize({ width: 320, height: 180 }, 0, 3), { width: 1280, height: 720 });
  assert.deepEqual(fullSize({ width: 1280, height: 720 }, 2, 3), { width: 1280, height: 720 });
});

test('only what the protocol calls final ends a session', () => {
  for (const code of [1001, 1005, 1006, 1011, 4400, 4408, 4413, 4429]) assert.equal(closingForCode(code, ''), undefined, `code ${code}`);
  assert.equal(closingForCode(1000, '')?.reason, 'left');
  assert.equal(closingForError({ code: 'conflict', message: 'Peer is already connected' }, false)?.reason, 'conflict');
  assert.equal(closingForError({ code: 'node_unreachable', message: '' }, false), undefined);
  assert.equal(closingForError({ code: 'peer_not_found', message: '' }, false)?.reason, 'notFound');
});
