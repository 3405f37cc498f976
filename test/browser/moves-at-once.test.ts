// Peers of a room that are moved to another media worker at the same time, in Chromium.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { peerOperations } from '../../api/operations/peers.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Colour } from '../kit/browser/client-page.ts';
import { splitRooms } from '../kit/processes/start-node.ts';
import { blue, css, enter, peersByWorker, red, startClientFixture } from './client-kit.ts';

/** More than are moved at the same time; others wait. */
const others = 20;
/** The first of them watch a video, which costs their page more than audio. */
const viewers = 3;
/** All in one page would share its threads. */
const perPage = 10;
/** One of so many publishes audio, which the next ones receive. */
const perSpeaker = 5;
/** In hertz; that of a peer is by its number. */
const [lowestTone, toneStep] = [300, 60];

async function startRoom(t: TestContext) {
  const fixture = await startClientFixture(t, splitRooms);
  const { node, roomId } = fixture;
  const { timeoutMs } = peerOperations.movePeer;
  const move = (peerId: string) => node.api.request('POST', `/room/${roomId}/peer/${peerId}/move`, { json: {}, timeoutMs });
  const moveAll = async (peerIds: readonly string[]) => {
    const answers = await Promise.all(peerIds.map((peerId) => move(peerId)));
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body]).filter(([status]) => status !== 204),
      [],
    );
  };
  return { fixture, moveAll };
}

test('two peers that receive each other keep frames, audio, elements and track ids when both are moved at once', async (t) => {
  const { fixture, moveAll } = await startRoom(t);
  const ada = await enter(fixture, 'ada');
  await ada.publish({ colour: css(red), width: 320, height: 180, tone: 440 });
  const bob = await enter(fixture, 'bob');
  await bob.publish({ colour: css(blue), width: 320, height: 180, tone: 880 });
  const keep = () => Promise.all([bob.sees(ada, red), bob.hears(ada, 440), ada.sees(bob, blue), ada.hears(bob, 880)]);
  await keep();
  const before = await Promise.all([ada, bob].map((peer) => peer.shown()));
  for (const _ of [1, 2, 3]) {
    await moveAll(['ada', 'bob']);
    await keep();
    assert.deepEqual(await Promise.all([ada, bob].map((peer) => peer.shown())), before, 'elements and streams are the same');
  }
  for (const peer of [ada, bob]) assert.deepEqual(await peer.notes('trackUnsubscribed'), []);
});

/** Ada publishes a video, and some of the others audio, which all others receive from one of them. They share two pages. */
async function startPages(t: TestContext) {
  const { fixture, moveAll } = await startRoom(t);
  const { node, browser, pageUrl, roomId } = fixture;
  const ada = await enter(fixture, 'ada', { subscribe: 'manual' });
  await ada.publish({ colour: css(red), width: 160, height: 90, rate: 10 });
  const peers = Array.from({ length: others }, (_, index) => ({
    id: `peer-${index}`,
    tone: index % perSpeaker === 0 ? lowestTone + index * toneStep : undefined,
  }));
  const speakers: { id: string; tone: number; trackId: string }[] = [];
  const pages: { page: Page; ids: string[] }[] = [];
  for (let first = 0; first < others; first += perPage) {
    const page = await browser.newPage(pageUrl);
    const here = peers.slice(first, first + perPage);
    pages.push({ page, ids: here.map(({ id }) => id) });
    for (const { id, tone } of here) {
      const { token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId: id })).body.data;
      const join = async ({ id, tone, ...options }: { id: string; tone: number | undefined; url: string; token: string }) => {
        const room = new kit.TestRoom({ ...options, fallbackUrls: [], subscribe: 'manual' });
        room.size = { width: 64, height: 36 };
        kit.rooms[id] = room;
        await room.room.join();
        return tone && (await room.room.publish(kit.tone(tone))).id;
      };
      const trackId = await page.evaluate(join, { id, tone, url: node.peerSocketUrl, token });
      if (trackId && tone) speakers.push({ id, tone, trackId });
    }
  }
  const [video = ''] = await ada.page.evaluate(() => kit.rooms.main?.room.localTracks.map(({ id }) => id) ?? []);
  const received = peers.map(({ id }, index) => {
    const from = speakers[Math.ceil((index + 1) / perSpeaker) % speakers.length];
    return { id, from, trackIds: [from?.trackId ?? '', ...(index < viewers ? [video] : [])] };
  });
  const inPages = async <Result>(work: (page: Page, its: typeof received) => Promise<Result[]>) =>
    (
      await Promise.all(
        pages.map(({ page, ids }) =>
          work(
            page,
            received.filter(({ id }) => ids.includes(id)),
          ),
        ),
      )
    ).flat();
  await inPages((page, its) =>
    page.evaluate(
      (each) => Promise.all(each.flatMap(({ id, trackIds }) => trackIds.map((trackId) => kit.rooms[id]?.room.subscribe(trackId)))),
      its,
    ),
  );
  /** Each of them hears a speaker, and the viewers see Ada. */
  const keep = () =>
    inPages(async (page, its) => {
      const receive = async ([each, colour]: readonly [typeof received, Colour]) => {
        const receivesNow = async ({ id, from, trackIds }: (typeof received)[number]) => {
          const room = kit.rooms[id];
          const tone = await room?.toneOf(from?.id ?? '');
          if (Math.abs((tone ?? 0) - (from?.tone ?? 0)) >= 15) return false;
          const frame = trackIds.length > 1 ? await room?.frameOf('ada') : { change: 1, colour };
          return frame && frame.change > 0.5 && frame.colour.every((value, at) => Math.abs(value - (colour[at] ?? 0)) < 40);
        };
        return (await Promise.all(each.map(receivesNow))).every((received) => received);
      };
      return [await eventuallyIn(page, receive, [its, red] as const)];
    });
  const inRooms = <Result>(read: () => Result[]) => inPages((page) => page.evaluate(read));
  return { fixture, moveAll, peers, keep, inRooms };
}

test(`${others + 1} peers keep what they publish and receive when all are moved at once`, async (t) => {
  const { fixture, moveAll, peers, keep, inRooms } = await startPages(t);
  const state = () =>
    inRooms(() =>
      Object.values(kit.rooms).map(({ room, elements }) => ({
        published: room.localTracks.map(({ id }) => id),
        shown: [...elements].map(([id, element]) => [id, (element.srcObject as MediaStream).id]),
      })),
    );
  await keep();
  const [before, workers] = [await state(), await peersByWorker(fixture.node.api, fixture.roomId)];
  await moveAll(['ada', ...peers.map(({ id }) => id)]);
  assert.deepEqual(await state(), before, 'tracks, elements and streams are the same');
  assert.deepEqual(await peersByWorker(fixture.node.api, fixture.roomId), workers.toReversed());
  // The former paths are closed.
  await keep();
  const notes = await inRooms(() =>
    Object.values(kit.rooms).map(({ notes }) => ({
      replaced: new Set(notes.filter(({ name }) => name === 'trackReplaced').map(({ detail }) => detail)).size,
      ended: notes.filter(({ name }) => name === 'trackUnsubscribed').length,
    })),
  );
  assert.deepEqual(
    notes,
    peers.map((_, index) => ({ replaced: index < viewers ? 2 : 1, ended: 0 })),
  );
});
