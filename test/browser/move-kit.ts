// Move kit: peers that are moved to another media worker, and how the video and audio of one is seen and heard meanwhile.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Continuity } from '../kit/browser/client-page.ts';
import { blue, type ClientFixture, css, type PagePeer, peersByWorker, red } from './client-kit.ts';

/** `room`: in the page; `peer`: whose video and audio are watched there. */
type Watched = { room: string; peer: { id: string } };

const colours = { ada: red, dora: blue };
export const tones = { ada: 440, dora: 880 };
/** Promised for a move: milliseconds of silence, and frames at 30 per second, which are 200 ms. */
const maxSilence = 100;
const maxFrames = 6;
/** A busy computer interrupts video and audio too: then what does not move is interrupted as long, or a later move is not disturbed. */
const maxMoves = 10;

type Publishing = { width?: number; height?: number; noisy?: boolean; encodings?: RTCRtpEncodingParameters[] };

/** Publishes numbered video and a tone. `noisy`: of so much detail that all of the bitrate is used. */
export async function publish({ page }: PagePeer, room: string, id: 'ada' | 'dora', publishing: Publishing = {}): Promise<void> {
  await page.evaluate(
    async ([name, colour, tone, { width = 320, height = 180, noisy = false, encodings }]) => {
      const video = kit.pattern(colour, width, height, 30, { numbered: true, noisy });
      const room = kit.rooms[name]?.room;
      await Promise.all([room?.publish(video, encodings && { encodings }), room?.publish(kit.tone(tone))]);
    },
    [room, css(colours[id]), tones[id], publishing] as const,
  );
}

/** Another peer in the page of this one; its room in the page has its id. */
export async function enterToo({ node, roomId }: ClientFixture, { page }: PagePeer, peerId: string): Promise<void> {
  const { token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', options: {}, peerId })).body.data;
  await page.evaluate(
    async ([id, url, text]) => {
      const room = new kit.TestRoom({ url, token: text, fallbackUrls: [] });
      kit.rooms[id] = room;
      await room.room.join();
    },
    [peerId, node.peerSocketUrl, token] as const,
  );
}

function named(watched: readonly Watched[]): [room: string, peerId: string][] {
  return watched.map(({ room, peer }) => [room, peer.id]);
}

/** Resolves when these peers were seen in a page, which no longer happens once it is hidden. */
export async function playing({ page }: PagePeer, watched: readonly Watched[]): Promise<void> {
  await eventuallyIn(page, (each) => each.every(([room, id]) => kit.rooms[room]?.plays(id)), named(watched));
}

/** What is seen and heard in a page meanwhile. */
async function watching(peer: PagePeer, watched: readonly Watched[], work: () => Promise<unknown>): Promise<Continuity[]> {
  const { page } = peer;
  await playing(peer, watched);
  const given = named(watched);
  await page.evaluate((each) => each.map(([room, id]) => kit.rooms[room]?.watch(id)), given);
  await work();
  const seen = await page.evaluate((each) => each.flatMap(([room, id]) => kit.rooms[room]?.endWatch(id) ?? []), given);
  assert.equal(seen.length, watched.length);
  return seen;
}

type MovesOptions = {
  fixture: ClientFixture;
  moved: PagePeer;
  bob: PagePeer;
  ada: PagePeer;
  /** In the page of Bob too, without a move. */
  still: Watched;
  /** The page of Bob is hidden: it shows no frames. */
  hidden?: boolean;
  /** Before each move. */
  prepared?: () => Promise<unknown>;
};

/** Moves a peer there and back until Bob has seen and heard Ada twice without a gap. */
export async function moveWithoutGap(t: TestContext, options: MovesOptions): Promise<void> {
  const { fixture, moved, bob, ada, still, hidden = false, prepared } = options;
  const { node, roomId } = fixture;
  const before = await bob.shown();
  let smooth = 0;
  for (let move = 1; smooth < 2; move += 1) {
    assert.ok(move <= maxMoves, 'no two moves were without a gap');
    const peers = await peersByWorker(node.api, roomId);
    await prepared?.();
    const [watched, usual] = await watching(bob, [{ room: 'main', peer: ada }, still], async () => {
      const answer = await node.api.post(`/room/${roomId}/peer/${moved.id}/move`, {});
      assert.equal(answer.status, 204, JSON.stringify(answer.body));
      await Promise.all([hidden || bob.sees(ada, red), bob.hears(ada, tones.ada)]);
    });
    assert.ok(watched && usual);
    t.diagnostic(JSON.stringify({ watched, usual }));
    assert.deepEqual(await bob.shown(), before, 'elements and streams are the same');
    assert.deepEqual(await bob.notes('trackUnsubscribed'), []);
    assert.deepEqual(
      (await peersByWorker(node.api, roomId)).map((count, worker) => Math.abs(count - (peers[worker] ?? 0))),
      [1, 1],
    );
    assert.ok(watched.audio.heard > 0);
    if (hidden) assert.equal(watched.video.frames, 0);
    else assert.ok(watched.video.frames > 2 && watched.video.dark === 0);
    if (isSmooth(watched, usual)) smooth += 1;
  }
}

function isSmooth({ video, audio }: Continuity, usual: Continuity): boolean {
  return (
    video.lost <= Math.max(maxFrames, usual.video.lost) &&
    video.repeated <= Math.max(maxFrames, usual.video.repeated) &&
    audio.gap <= Math.max(maxSilence, usual.audio.gap)
  );
}
