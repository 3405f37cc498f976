// Playback: handling failures of the player.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api } from '../../../packages/console/src/api/rest.ts';
import { Playback } from '../../../packages/console/src/recordings/playback.ts';
import { turns } from '../../kit/turns.ts';

test('a player that reports two failures at once is opened once more after the server responds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(globalThis, 'fetch', async () => {
    throw new TypeError('fetch failed');
  });
  let addresses = 0;
  const api = {
    base: 'http://127.0.0.1/',
    token: 'token',
    send: async () => {
      addresses += 1;
      return { data: { token: `viewer-${addresses}` } };
    },
  } as unknown as Api;
  const name = { recordingId: 'r-20260101T000000000Z', file: 'index.m3u8' };
  const playback = new Playback({ api, scope: 'full', name, stream: true, cannotPlay: 'It cannot be played.' });
  t.after(() => playback.close());
  const phase = () => playback.state.now.phase;
  await turns();
  assert.equal(phase(), 'ready');
  await Promise.all([playback.failed(7), playback.failed(7)]);
  assert.equal(phase(), 'lost');
  t.mock.timers.tick(2_000);
  await turns();
  const { now } = playback.state;
  assert.deepEqual([addresses, now.phase, now.phase === 'ready' && now.from], [2, 'ready', 7]);
});
