// A peer that is moved to another media worker, in Chromium: what it receives continues without a gap.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { assertPrompt } from '../kit/promised-time.ts';
import { type ClientFixture, css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';

type Leg = { worker: number; peers: number };

const env = { SVC_WEBRTC_WORKERS: '2', SVC_WORKER_MAX_TRACKS: '1' };

/** Ada, at media worker 0, publishes video and audio. Bob, at media worker 1, receives both. */
async function startPair(t: TestContext) {
  const fixture = await startClientFixture(t, env);
  const ada = await enter(fixture, 'ada');
  await ada.publish({ colour: css(red), width: 320, height: 180, rate: 30, tone: 440 });
  const bob = await enter(fixture, 'bob');
  await Promise.all([bob.sees(ada, red), bob.hears(ada, 440)]);
  assert.deepEqual(await peersByWorker(fixture), [
    [0, 1],
    [1, 1],
  ]);
  return { fixture, ada, bob };
}

async function peersByWorker({ node, roomId }: ClientFixture): Promise<number[][]> {
  const { legs } = (await node.api.get(`/room/${roomId}`)).body.data as { legs: Leg[] };
  return legs.map(({ worker, peers }) => [worker, peers]);
}

const shownBy = ({ page }: PagePeer) =>
  page.evaluate(() => [...(kit.rooms.main?.elements ?? [])].map(([id, element]) => [id, (element.srcObject as MediaStream).id]));

/** Bob watches Ada while peers move. `to`: peers with the index of their new media worker. */
async function watchMoves(t: TestContext, { fixture, ada, bob }: Awaited<ReturnType<typeof startPair>>, to: [PagePeer, number][]) {
  const before = await shownBy(bob);
  // Interruptions of this computer without a move.
  const quiet = await watching(bob, () => wait(2_000));
  const { node, roomId } = fixture;
  const seen = await watching(bob, async () => {
    const answers = await Promise.all(to.map(([{ id }, worker]) => node.api.post(`/room/${roomId}/peer/${id}/move`, { worker })));
    for (const answer of answers) assert.equal(answer.status, 204, JSON.stringify(answer.body));
    await wait(1_000);
  });
  t.diagnostic(JSON.stringify({ quiet, seen }));
  await Promise.all([bob.sees(ada, red), bob.hears(ada, 440)]);
  assert.deepEqual(await shownBy(bob), before, 'elements and streams are the same');
  assert.deepEqual(await bob.notes('trackUnsubscribed'), []);
  assert.ok(seen.audio.heard > 500 && seen.video.frames > 2, JSON.stringify(seen));
  assert.equal(seen.video.dark, 0);
  assertPrompt('the next frame', seen.video.gap, boundOf(200, quiet.video.gap));
  assertPrompt('the next audio', seen.audio.gap, boundOf(100, quiet.audio.gap));
}

/** What a peer sees and hears of Ada meanwhile. */
async function watching({ page }: PagePeer, work: () => Promise<void>) {
  await page.evaluate(() => kit.rooms.main?.watch('ada'));
  await work();
  const seen = await page.evaluate(() => kit.rooms.main?.endWatch());
  assert.ok(seen);
  return seen;
}

/** `usual`: milliseconds without a move; a busy computer interrupts video and audio too. */
function boundOf(promised: number, usual: number): { promised: number; bound: number } {
  return { promised, bound: Math.max(5 * promised, 10 * usual) };
}

test('a receiving peer keeps frames, audio, elements and track ids when it is moved', async (t) => {
  const pair = await startPair(t);
  await watchMoves(t, pair, [[pair.bob, 0]]);
  assert.deepEqual(await peersByWorker(pair.fixture), [
    [0, 2],
    [1, 0],
  ]);
  assert.equal((await pair.bob.notes('trackReplaced')).length, 2);
});
