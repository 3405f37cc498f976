// WHEP in Chromium: a player of 40 lines and one that others wrote see and hear the active speaker, or one peer, without further negotiation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Colour } from '../kit/browser/client-page.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { blue, css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';
import { newPlayer, play, received, shows } from './whep-kit.ts';

const gray: Colour = [120, 120, 120];
/** Plays with the player of the npm package whip-whep, which the author of WHEP wrote. */
function playWithLibrary(page: Page, endpoint: string, token: string): Promise<void> {
  return page.evaluate(
    async ([url, bearer]) => {
      const connection = new RTCPeerConnection();
      const video = Object.assign(document.createElement('video'), { muted: true, autoplay: true });
      connection.ontrack = ({ streams: [stream] }) => Object.assign(video, { srcObject: stream });
      document.body.append(video);
      for (const kind of ['audio', 'video']) connection.addTransceiver(kind, { direction: 'recvonly' });
      const client = new kit.WHEPClient();
      globalThis.player = { connection, video, offeredAt: performance.now(), session: '', client };
      await client.view(connection, url, bearer);
    },
    [endpoint, token] as const,
  );
}

/** Publishes video of one color, and a tone that speak() switches. */
async function publish(peer: PagePeer, colour: Colour, frequency: number): Promise<void> {
  await peer.page.evaluate(
    async ([wanted, hertz]) => {
      const beeper = kit.beeper(hertz);
      beeper.turn(false);
      kit.beepers.main = beeper;
      const { room } = kit.rooms.main as InstanceType<typeof kit.TestRoom>;
      await Promise.all([room.publish(kit.pattern(wanted)), room.publish(beeper.track)]);
    },
    [css(colour), frequency] as const,
  );
}

function speak(peer: PagePeer, on: boolean): Promise<unknown> {
  return peer.page.evaluate((now) => kit.beepers.main?.turn(now), on);
}

test('a page plays the active speaker with WHEP, and its streams continue when another peer speaks or leaves', async (t) => {
  const fixture = await startClientFixture(t, { SVC_CORS_ORIGINS: '*' });
  const { node, roomId } = fixture;
  const ada = await enter(fixture, 'ada', { subscribe: 'manual' });
  await publish(ada, red, 440);
  const { page, token } = await newPlayer(fixture, play);
  await speak(ada, true);
  await shows(page, red, 440);
  t.diagnostic(
    `the first frame was seen ${await page.evaluate(() => Math.round((player.firstFrame ?? Number.NaN) - player.offeredAt))} ms after the offer`,
  );
  const before = await received(page);
  assert.deepEqual(
    before.map(({ kind, codec }) => [kind, codec]),
    [
      ['audio', 'audio/opus'],
      ['video', 'video/VP8'],
    ],
  );

  const bob = await enter(fixture, 'bob', { subscribe: 'manual' });
  await publish(bob, blue, 880);
  await speak(ada, false);
  await speak(bob, true);
  await shows(page, blue, 880);
  await speak(bob, false);
  await speak(ada, true);
  await shows(page, red, 440);
  await speak(ada, false);
  await speak(bob, true);
  await node.api.delete(`/room/${roomId}/peer/ada`);
  await shows(page, blue, 880);
  const after = await received(page);
  assert.deepEqual(
    after.map(({ ssrc }) => ssrc),
    before.map(({ ssrc }) => ssrc),
  );
  // If a change of the track cuts a frame, one sequence number is skipped, so that players do not wait for the rest of it.
  const changes = { audio: 0, video: 3 };
  for (const { kind, lost } of after) assert.ok(lost <= changes[kind], `${lost} lost packets of ${kind}`);
  assert.equal(await page.evaluate(() => kit.negotiations.length), 1);

  const session = await page.evaluate(() => player.session);
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await fetch(session, { method: 'DELETE', headers })).status, 200);
  assert.equal((await fetch(session, { method: 'DELETE', headers })).status, 404);
});

test('a player that others wrote plays one peer with WHEP, also when that peer publishes later and again', async (t) => {
  const fixture = await startClientFixture(t, { SVC_CORS_ORIGINS: '*' });
  const bob = await enter(fixture, 'bob', { subscribe: 'manual' });
  await publish(bob, gray, 880);
  const { page, id } = await newPlayer(fixture, playWithLibrary, '?video=ada');
  const ada = await enter(fixture, 'ada', { subscribe: 'manual' });
  await publish(ada, red, 440);
  await speak(bob, true);
  await shows(page, red, 880);
  await ada.page.evaluate(async (colour) => {
    const { room } = kit.rooms.main as InstanceType<typeof kit.TestRoom>;
    for (const track of [...room.localTracks]) await track.unpublish();
    await room.publish(kit.pattern(colour));
  }, css(blue));
  await shows(page, blue, 880);
  assert.equal((await fixture.node.api.get(`/room/${fixture.roomId}/peer/${id}`)).body.data.peer.status, 'connected');
  await page.evaluate(() => player.client?.stop());
  assert.equal((await fixture.node.api.get(`/room/${fixture.roomId}/peer/${id}`)).body.data.peer.status, 'disconnected');
});

test('a page plays the programme of the room with WHEP: what the hls component composes', async (t) => {
  const fixture = await startClientFixture(t, {
    SVC_CORS_ORIGINS: '*',
    SVC_COMPONENTS_USED: 'hls',
    SVC_RESOURCES_BASE_PATH: await makeResources(t),
  });
  const ada = await enter(fixture, 'ada', { subscribe: 'manual' });
  await publish(ada, red, 440);
  const options = { width: 320, height: 180, layout: 'single' };
  const { status } = await postWhenIdle(fixture.node.api, `/room/${fixture.roomId}/component`, { type: 'hls', options });
  assert.equal(status, 201);
  const { page } = await newPlayer(fixture, play, '?video=programme');
  await speak(ada, true);
  await shows(page, red, 440);
  assert.deepEqual(
    (await received(page)).map(({ kind, codec }) => [kind, codec]),
    [
      ['audio', 'audio/opus'],
      ['video', 'video/H264'],
    ],
  );
});
