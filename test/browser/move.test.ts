// Peers that are moved to another media worker, in Chromium: what they receive, and what others receive of them, continues without a gap.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Continuity } from '../kit/browser/client-page.ts';
import { splitRooms } from '../kit/processes/start-node.ts';
import { blue, type ClientFixture, css, enter, type PagePeer, peersByWorker, red, startClientFixture } from './client-kit.ts';

/** `room`: in the page; `peer`: whose video and audio are watched there. */
type Watched = { room: string; peer: { id: string } };

const colours = { ada: red, dora: blue };
const tones = { ada: 440, dora: 880 };
/** Promised for a move: milliseconds of silence, and frames at 30 per second, which are 200 ms. */
const maxSilence = 100;
const maxFrames = 6;
/** A busy computer interrupts video and audio too: then what does not move is interrupted as long, or a later move is not disturbed. */
const maxMoves = 10;

/** Ada publishes video and audio, and Bob receives them. */
async function startPair(t: TestContext) {
  const fixture = await startClientFixture(t, splitRooms);
  const ada = await enter(fixture, 'ada');
  await publish(ada, 'main', 'ada');
  const bob = await enter(fixture, 'bob');
  await Promise.all([bob.sees(ada, red), bob.hears(ada, tones.ada)]);
  return { fixture, ada, bob };
}

async function publish({ page }: PagePeer, room: string, id: 'ada' | 'dora'): Promise<void> {
  await page.evaluate(
    async ([name, colour, tone]) => {
      const tracks = [kit.pattern(colour, 320, 180, 30, true), kit.tone(tone)];
      await Promise.all(tracks.map((track) => kit.rooms[name]?.room.publish(track)));
    },
    [room, css(colours[id]), tones[id]] as const,
  );
}

/** Another peer in the page of this one; its room in the page has its id. */
async function enterToo({ node, roomId }: ClientFixture, { page }: PagePeer, peerId: string): Promise<void> {
  const { token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', options: {}, peerId })).body.data;
  await page.evaluate(
    async ([id, url, text]) => {
      const room = new kit.TestRoom({ url, token: text, fallbackUrls: [] });
      kit.rooms[id] = room;
      await room.room.join();
    },
    [peerId, `ws://127.0.0.1:${node.port}/socket/peer/websocket`, token] as const,
  );
}

/** What is seen and heard in a page meanwhile. */
async function watching({ page }: PagePeer, watched: readonly Watched[], work: () => Promise<unknown>): Promise<Continuity[]> {
  const given = watched.map(({ room, peer }): [string, string] => [room, peer.id]);
  await eventuallyIn(page, (each) => each.every(([room, id]) => kit.rooms[room]?.plays(id)), given);
  await page.evaluate((each) => each.map(([room, id]) => kit.rooms[room]?.watch(id)), given);
  await work();
  const seen = await page.evaluate((each) => each.flatMap(([room, id]) => kit.rooms[room]?.endWatch(id) ?? []), given);
  assert.equal(seen.length, watched.length);
  return seen;
}

type MovesOptions = { fixture: ClientFixture; moved: PagePeer; bob: PagePeer; ada: PagePeer; still: Watched };

/** Moves a peer there and back until Bob has seen and heard Ada twice without a gap. `still`: in the page of Bob too, without a move. */
async function moveWithoutGap(t: TestContext, { fixture, moved, bob, ada, still }: MovesOptions): Promise<void> {
  const { node, roomId } = fixture;
  const before = await bob.shown();
  let smooth = 0;
  for (let move = 1; smooth < 2; move += 1) {
    assert.ok(move <= maxMoves, 'no two moves were without a gap');
    const peers = await peersByWorker(node.api, roomId);
    const [watched, usual] = await watching(bob, [{ room: 'main', peer: ada }, still], async () => {
      const answer = await node.api.post(`/room/${roomId}/peer/${moved.id}/move`, {});
      assert.equal(answer.status, 204, JSON.stringify(answer.body));
      await Promise.all([bob.sees(ada, red), bob.hears(ada, tones.ada)]);
    });
    assert.ok(watched && usual);
    t.diagnostic(JSON.stringify({ watched, usual }));
    assert.deepEqual(await bob.shown(), before, 'elements and streams are the same');
    assert.deepEqual(await bob.notes('trackUnsubscribed'), []);
    assert.deepEqual(
      (await peersByWorker(node.api, roomId)).map((count, worker) => Math.abs(count - (peers[worker] ?? 0))),
      [1, 1],
    );
    assert.equal(watched.video.dark, 0);
    if (isSmooth(watched, usual)) smooth += 1;
  }
}

function isSmooth({ video, audio }: Continuity, usual: Continuity): boolean {
  assert.ok(audio.heard > 0 && video.frames > 2);
  return (
    video.lost <= Math.max(maxFrames, usual.video.lost) &&
    video.repeated <= Math.max(maxFrames, usual.video.repeated) &&
    audio.gap <= Math.max(maxSilence, usual.audio.gap)
  );
}

test('a receiving peer keeps frames, audio, elements and track ids when it is moved', async (t) => {
  const { fixture, ada, bob } = await startPair(t);
  await enterToo(fixture, bob, 'carl');
  await moveWithoutGap(t, { fixture, moved: bob, bob, ada, still: { room: 'carl', peer: ada } });
  assert.ok((await bob.notes('trackReplaced')).length >= 4);
});

test('receivers of a peer keep frames, audio, elements and track ids when it is moved', async (t) => {
  const { fixture, ada, bob } = await startPair(t);
  const dora = { id: 'dora' };
  await enterToo(fixture, ada, dora.id);
  await publish(ada, dora.id, 'dora');
  await Promise.all([bob.sees(dora, blue), bob.hears(dora, tones.dora)]);
  const published = () => ada.page.evaluate(() => kit.rooms.main?.room.localTracks.map(({ id }) => id));
  const before = await published();
  await moveWithoutGap(t, { fixture, moved: ada, bob, ada, still: { room: 'main', peer: dora } });
  assert.deepEqual(await published(), before);
});
