// WHEP in Chromium: a player of 40 lines and one that others wrote see and hear the active speaker, or one peer, without further negotiation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Colour } from '../kit/browser/client-page.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { blue, type ClientFixture, css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';

type Player = {
  connection: RTCPeerConnection;
  video: HTMLVideoElement;
  session: string;
  offeredAt: number;
  firstFrame?: number;
  client?: InstanceType<typeof kit.WHEPClient>;
};
const gray: Colour = [120, 120, 120];
declare global {
  var player: Player;
}

/** The whole player. */
function play(page: Page, endpoint: string, token: string): Promise<void> {
  return page.evaluate(
    async ([url, bearer]) => {
      const connection = new RTCPeerConnection();
      const stream = new MediaStream();
      connection.ontrack = ({ track }) => stream.addTrack(track);
      connection.addTransceiver('audio', { direction: 'recvonly' });
      connection.addTransceiver('video', { direction: 'recvonly' });
      const video = document.createElement('video');
      video.muted = true;
      video.autoplay = true;
      video.srcObject = stream;
      document.body.append(video);
      await connection.setLocalDescription();
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/sdp' };
      const offeredAt = performance.now();
      const response = await fetch(url, { method: 'POST', headers, body: connection.localDescription?.sdp ?? '' });
      if (response.status !== 201) throw new Error(await response.text());
      await connection.setRemoteDescription({ type: 'answer', sdp: await response.text() });
      globalThis.player = { connection, video, offeredAt, session: new URL(response.headers.get('location') ?? '', url).href };
      video.requestVideoFrameCallback((now) => {
        globalThis.player.firstFrame = now;
      });
    },
    [endpoint, token] as const,
  );
}

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

/** Resolves when the video of the player has this color and moves, and its audio has this frequency. */
async function shows(page: Page, colour: Colour, frequency: number): Promise<void> {
  await eventuallyIn(
    page,
    async (wanted) => {
      const seen = player.video.videoWidth > 0 ? await kit.probe(player.video) : undefined;
      return seen && seen.change > 0.5 && seen.colour.every((value, index) => Math.abs(value - (wanted[index] ?? 0)) < 40);
    },
    colour,
  );
  await eventuallyIn(
    page,
    async (wanted) => {
      const [track] = (player.video.srcObject as MediaStream).getAudioTracks();
      return track && Math.abs((await kit.loudest(track)) - wanted) < 15;
    },
    frequency,
  );
}

/** SSRCs, lost packets and formats of what the player receives. */
function received(page: Page): Promise<{ kind: 'audio' | 'video'; ssrc: number; lost: number; codec: string }[]> {
  return page.evaluate(async () => {
    const report = await player.connection.getStats();
    const entries = [...report.values()];
    return entries
      .filter(({ type }) => type === 'inbound-rtp')
      .map(({ kind, ssrc, packetsLost, codecId }) => ({ kind, ssrc, lost: packetsLost, codec: report.get(codecId)?.mimeType ?? '' }))
      .sort((a, b) => a.kind.localeCompare(b.kind));
  });
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

type NewPlayer = { page: Page; id: string; token: string };

async function newPlayer({ node, browser, pageUrl, roomId }: ClientFixture, start: typeof play, query = ''): Promise<NewPlayer> {
  const { peer, token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc' })).body.data;
  const page = await browser.newPage(pageUrl);
  await start(page, `${node.url}/whep/${roomId}${query}`, token);
  return { page, id: peer.id, token };
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
