// Data channels of peers that are moved to another media worker, in Chromium: every message arrives once, and in order.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { splitRooms } from '../kit/processes/start-node.ts';
import { type ClientFixture, enter, type PagePeer, peersByWorker, startClientFixture } from './client-kit.ts';

/** Milliseconds between two messages. */
const intervalMs = 10;
/** On a busy computer a client may need more than the 15 s that it has: then it keeps its former path, and is moved again. */
const maxRounds = 6;
type Sender = { sent: number; events: string[]; stop: () => void };

/** Sends numbers over a data channel until stop(). */
async function send({ page }: PagePeer): Promise<void> {
  await page.evaluate(async (interval) => {
    const channel = await kit.rooms.main?.room.openDataChannel('numbers');
    if (!channel) throw new Error('no room');
    const sender: Sender = { sent: 0, events: [], stop: () => clearInterval(timer) };
    for (const name of ['open', 'closed'] as const) channel.on(name, () => sender.events.push(name));
    const timer = setInterval(() => {
      // It is opened again after a loss.
      if (channel.readyState !== 'open') return;
      channel.send(String(sender.sent));
      sender.sent += 1;
    }, interval);
    Object.assign(globalThis, { sender });
  }, intervalMs);
}

const sentBy = ({ page }: PagePeer) => page.evaluate(() => (globalThis as unknown as { sender: Sender }).sender.sent);

async function stop({ page }: PagePeer): Promise<Pick<Sender, 'sent' | 'events'>> {
  return page.evaluate(() => {
    const { sender } = globalThis as unknown as { sender: Sender };
    sender.stop();
    return { sent: sender.sent, events: sender.events };
  });
}

async function received(peer: PagePeer): Promise<number[]> {
  return (await peer.notes('message')).map(({ detail }) => Number(detail));
}

/** Ada sends numbers, which Bob and Cy receive. */
async function startRoom(t: TestContext) {
  const fixture = await startClientFixture(t, splitRooms);
  const [bob, cy] = [await enter(fixture, 'bob'), await enter(fixture, 'cy')];
  const ada = await enter(fixture, 'ada');
  await send(ada);
  for (const peer of [bob, cy]) await eventually('numbers arrive', async () => (await received(peer)).length > 50);
  return { fixture, ada, bob, cy };
}

async function move({ node, roomId }: ClientFixture, ...peers: PagePeer[]): Promise<void> {
  let left = peers;
  for (let round = 1; left.length > 0; round += 1) {
    assert.ok(round <= maxRounds, 'peers were not moved');
    const before = await peersByWorker(node.api, roomId);
    const answers = await Promise.all(left.map(({ id }) => node.api.post(`/room/${roomId}/peer/${id}/move`, {})));
    const failed = answers.filter(({ status }) => status !== 204);
    for (const { body } of failed) assert.match(JSON.stringify(body), /did not use the new path in time/);
    if (left.length === 1 && failed.length === 0) assert.notDeepEqual(await peersByWorker(node.api, roomId), before);
    left = left.filter((_, index) => answers[index]?.status !== 204);
  }
}

/** Every number has arrived once, in order, over the same objects. */
async function assertComplete(ada: PagePeer, receivers: readonly PagePeer[]): Promise<void> {
  const { sent, events } = await stop(ada);
  assert.deepEqual(events, [], 'the sender is not notified');
  for (const peer of receivers) {
    await eventually('the last number arrives', async () => (await received(peer)).at(-1) === sent - 1);
    const numbers = await received(peer);
    const first = numbers[0] ?? 0;
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => first + index),
      `${peer.id} received everything in order`,
    );
    assert.equal((await peer.notes('dataChannel')).length, 1);
    assert.deepEqual(await peer.notes('dataChannelClosed'), []);
  }
}

/** More numbers arrive. */
async function sendsMore(ada: PagePeer, receivers: readonly PagePeer[]): Promise<void> {
  const sent = await sentBy(ada);
  for (const peer of receivers) await eventually('more numbers arrive', async () => ((await received(peer)).at(-1) ?? 0) > sent);
}

const moves = [
  { title: 'receivers get every message of a peer once and in order when it is moved', moved: ['ada'], times: 2 },
  { title: 'a receiving peer gets every message once and in order when it is moved', moved: ['bob'], times: 2 },
  { title: 'every message arrives once and in order when sender and receivers are moved at once', moved: ['ada', 'bob', 'cy'], times: 3 },
] as const;

for (const { title, moved, times } of moves) {
  test(title, async (t) => {
    const { fixture, ...peers } = await startRoom(t);
    const { ada, bob, cy } = peers;
    for (let time = 0; time < times; time += 1) {
      await move(fixture, ...moved.map((id) => peers[id]));
      await sendsMore(ada, [bob, cy]);
    }
    await assertComplete(ada, [bob, cy]);
  });
}

test('data channels continue, and nothing is left, if a media worker dies during a move to it', async (t) => {
  const { fixture, ada, bob, cy } = await startRoom(t);
  const { node, roomId } = fixture;
  const moveTo = (worker: number) => node.api.post(`/room/${roomId}/peer/ada/move`, { worker });
  const legs = async () => {
    const { data } = (await node.api.get(`/room/${roomId}`)).body;
    return data.legs as { worker: number; peers: number; pipedTracks: number }[];
  };
  const peers = async () => (await legs()).reduce((sum, leg) => sum + leg.peers, 0);
  // If she is there already, she stays.
  await moveTo(1);
  const moving = moveTo(0);
  await eventually('the second path exists', async () => (await peers()) > 3, { every: 5 });
  process.kill(node.node.parts.media.workers()[0]?.pid ?? 0, 'SIGKILL');
  await moving;
  await sendsMore(ada, [bob, cy]);
  await eventually('every peer has one path, and nothing is piped', async () => {
    const [leg, ...others] = await legs();
    return others.length === 0 && leg?.peers === 3 && leg.pipedTracks === 0;
  });
  await stop(ada);
  for (const peer of [bob, cy]) {
    const numbers = await received(peer);
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
      'nothing arrives twice or too late',
    );
  }
  assert.equal(await ada.page.evaluate(() => kit.rooms.main?.room.state), 'joined');
});
