// Receivers whose clients cannot move, in Chromium: a LiveKit client and a player of WHEP keep what a peer publishes that is moved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitRooms } from '../kit/processes/start-node.ts';
import { css, enter, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';
import { newPlayer, play, received, shows } from './whep-kit.ts';

test('LiveKit clients and players of WHEP keep the media of a peer that is moved', async (t) => {
  const fixture = await startLiveKitFixture(t, splitRooms);
  const { node, roomId } = fixture;
  const ada = await enter(fixture, 'ada');
  await ada.publish({ colour: css(red), tone: 440 });
  const larry = await LiveKitPeer.join(fixture, 'larry');
  const { page } = await newPlayer(fixture, play, '?video=ada');
  const keeps = () => Promise.all([larry.sees(ada, red), larry.hears(ada, 440), shows(page, red, 440)]);
  await keeps();
  const move = (id: string) => node.api.post(`/room/${roomId}/peer/${id}/move`, {});
  const [negotiated, before] = await Promise.all([page.evaluate(() => kit.negotiations.length), received(page)]);
  for (const _ of [1, 2]) {
    const answer = await move('ada');
    assert.equal(answer.status, 204, JSON.stringify(answer.body));
    await keeps();
  }
  const after = await received(page);
  assert.deepEqual(
    after.map(({ ssrc }) => ssrc),
    before.map(({ ssrc }) => ssrc),
  );
  assert.equal(await page.evaluate(() => kit.negotiations.length), negotiated);
  t.diagnostic(JSON.stringify(after));
  assert.deepEqual(await larry.notes('participantDisconnected'), []);
  const rejected = await move('larry');
  assert.equal(rejected.status, 409);
  assert.match(rejected.body.errors, /cannot move/);
});
