// Two peers of a room that are moved to another media worker at the same time, in Chromium.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { splitRooms } from '../kit/processes/start-node.ts';
import { blue, css, enter, red, startClientFixture } from './client-kit.ts';

/** On a busy computer a client may need more than the 15 s that it has: then it keeps its former path, and is moved again. */
const maxRounds = 6;

async function startRoom(t: TestContext) {
  const fixture = await startClientFixture(t, splitRooms);
  const { node, roomId } = fixture;
  const isMoved = async (peerId: string) => {
    const { status, body } = await node.api.post(`/room/${roomId}/peer/${peerId}/move`, {});
    if (status !== 204) assert.match(JSON.stringify(body), /did not use the new path in time/);
    return status === 204;
  };
  const moveAll = async (peerIds: readonly string[]) => {
    let left = peerIds;
    for (let round = 1; left.length > 0; round += 1) {
      assert.ok(round <= maxRounds, `${left.length} peers were not moved`);
      const moved = await Promise.all(left.map(isMoved));
      left = left.filter((_, index) => !moved[index]);
    }
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
