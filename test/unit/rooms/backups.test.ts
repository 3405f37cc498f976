// Backups: a track in another codec, for receivers that cannot decode the first one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flushEvents, joinPeer, makePair, type TestPeer } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

const track = { trackId: 't', kind: 'video', rtpParameters: {}, paused: false } as const;

async function start() {
  const made = await makePair();
  const { alice, media } = made;
  const room = media.room('r');
  room.decodesBackups = true;
  const needed: string[] = [];
  const { publications } = alice.peer.session;
  const publish = async (id?: string) => {
    const backup = id === undefined ? undefined : { id, request: () => void needed.push('t') };
    await publications.publish({ ...track, transportId: alice.send, backup });
    await flushEvents();
  };
  const publishBackup = async () => {
    await publications.publishBackup({ trackId: 't', transportId: alice.send, rtpParameters: {} });
    await flushEvents();
  };
  return { ...made, room, publications, needed, publish, publishBackup };
}

const outcomes = ({ connection }: TestPeer) => [connection.of('trackSubscribed').length, connection.of('trackNotSupported').length];

test('a track without a backup is reported as not supported', async () => {
  const { bob, needed, publish, publishBackup } = await start();
  await publish();
  assert.deepEqual([outcomes(bob), needed], [[0, 1], []]);
  await assert.rejects(publishBackup(), { code: 'conflict' });
});

test('a backup is requested for each receiver that cannot decode the track, and received when it is published', async () => {
  const { rooms, room, bob, needed, publish, publishBackup } = await start();
  await publish('backup');
  const carol = await joinPeer(rooms, 'r', 'carol');
  assert.deepEqual(
    [outcomes(bob), outcomes(carol), needed],
    [
      [0, 0],
      [0, 0],
      ['t', 't'],
    ],
  );
  bob.peer.session.subscriptions.unsubscribe('t');
  await publishBackup();
  assert.deepEqual(
    [outcomes(bob), outcomes(carol)],
    [
      [0, 0],
      [1, 0],
    ],
  );
  assert.deepEqual(fieldsOf(carol.connection.of('trackSubscribed'), 'peerId', 'trackId'), [['alice', 't']]);
  assert.equal(room.producers.get('backup')?.backupOf, 't');
  await assert.rejects(publishBackup(), { code: 'conflict' });
  await bob.peer.session.subscriptions.subscribe('t');
  assert.deepEqual(outcomes(bob), [1, 0]);
});

test('a receiver that cannot decode a codec any more gets the backup', async () => {
  const { room, bob, needed, publish, publishBackup } = await start();
  room.decodesBackups = false;
  await publish('backup');
  assert.deepEqual([outcomes(bob), needed], [[1, 0], []]);
  room.decodesBackups = true;
  const { subscriptions } = bob.peer.session;
  subscriptions.unsubscribe('t');
  subscriptions.join({ codecs: [] });
  await subscriptions.subscribe('t');
  assert.deepEqual([outcomes(bob), needed], [[1, 0], ['t']]);
  await publishBackup();
  assert.deepEqual(outcomes(bob), [2, 0]);
});

test('a backup is paused, muted and removed with its track', async () => {
  const { room, publications, publish, publishBackup } = await start();
  await publish('backup');
  await publications.setMuted('t', true);
  await publishBackup();
  const paused = () => ['t', 'backup'].map((id) => room.producers.get(id)?.paused);
  assert.deepEqual(paused(), [true, true]);
  await publications.setMuted('t', false);
  assert.deepEqual(paused(), [false, false]);
  await publications.setPaused('t', true);
  assert.deepEqual(paused(), [true, true]);
  publications.removeTrack('t');
  assert.deepEqual(paused(), [undefined, undefined]);
});
