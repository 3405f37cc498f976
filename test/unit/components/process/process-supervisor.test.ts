// A process kept at work: whose track breaks it is dropped and named, the others go on; limits are fair.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../../../node/common/log.ts';
import { DroppedTracks } from '../../../../node/components/process/dropped-tracks.ts';
import {
  type ProcessCallbacks,
  ProcessSupervisor,
  type SupervisedProcess,
} from '../../../../node/components/process/process-supervisor.ts';
import type { SubscribableTrack } from '../../../../node/rooms/interfaces.ts';

function track(id: string, peerId: string, kind: 'audio' | 'video' = 'video'): SubscribableTrack {
  return { id, origin: { peerId }, kind, encoding: kind === 'video' ? 'vp8' : 'opus', metadata: null };
}

const idsOf = (tracks: readonly SubscribableTrack[]) => tracks.map(({ id }) => id);

async function keep(limits = { audio: 10, video: 10 }) {
  const made: { callbacks: ProcessCallbacks; careful: boolean; received: string[] }[] = [];
  const told: string[][] = [];
  const crashes: string[] = [];
  let next = Promise.withResolvers<void>();
  const kept = new ProcessSupervisor<SupervisedProcess, string>({
    host: {
      log: silentLog(),
      crashed: (reason) => crashes.push(reason),
      trackDropped: (...drop) => told.push(drop),
    },
    name: 'recorder',
    facts: () => ({}),
    begin: async () => 'work',
    make: (_, callbacks, careful) => {
      const one = { callbacks, careful, received: [] as string[] };
      made.push(one);
      return {
        pid: 1,
        start: async () => {},
        receive: (tracks) => {
          one.received = idsOf(tracks);
          next.resolve();
        },
        close: async () => {},
      };
    },
    onCrashed: () => undefined,
    limits,
  });
  const newest = () => made.at(-1) ?? assert.fail('nothing was made');
  await kept.start();
  /** Resolves when another is at work. */
  const crash = async (...tracks: string[]) => {
    next = Promise.withResolvers();
    newest().callbacks.onCrashed('It was ended by SIGABRT', tracks);
    if (crashes.length === 0) await next.promise;
  };
  return { kept, made, told, crashes, newest, crash };
}

test('the track that broke the process is dropped and named, and takes none of the restarts of the others', async () => {
  const { kept, told, crashes, newest, crash } = await keep();
  kept.receive([track('a', 'good'), ...['b', 'c', 'd'].map((id) => track(id, 'bad'))]);
  await crash('b');
  assert.deepEqual(newest().received, ['a', 'c', 'd']);
  assert.deepEqual(told, [['b', 'It broke the recorder: It was ended by SIGABRT']]);
  // Whose tracks break it twice sends none any more.
  await crash('c');
  assert.deepEqual(newest().received, ['a']);
  for (let count = 0; count < 3; count += 1) await crash();
  assert.deepEqual(crashes, []);
  await crash();
  assert.deepEqual(crashes, ['The recorder crashed too often: It was ended by SIGABRT']);
});

test('where it may have been one of several the next process is careful, and whoever was there twice is dropped', async () => {
  const { kept, told, newest, crash } = await keep();
  kept.receive(['a', 'b', 'c'].map((id) => track(id, id)));
  await crash('a', 'b');
  assert.ok(newest().careful);
  assert.deepEqual([newest().received, told], [['a', 'b', 'c'], []]);
  await crash('b', 'c');
  assert.deepEqual([newest().received, newest().careful], [['a', 'c'], false]);
  assert.deepEqual(
    told.map(([id]) => id),
    ['b'],
  );
});

test('a track that the process itself gives up is dropped for good, without another process', async () => {
  const { kept, told, newest, made } = await keep();
  const tracks = ['a', 'b'].map((id) => track(id, id));
  kept.receive(tracks);
  newest().callbacks.onTrackBroken('a', 'It cannot be recorded: nonsense');
  kept.receive(tracks);
  assert.deepEqual([newest().received, told, made.length], [['b'], [['a', 'It cannot be recorded: nonsense']], 1]);
});

test('of too many tracks those of the greediest are left out, and told once', async () => {
  const limited = new DroppedTracks({ audio: 1, video: 3 });
  const crowd = [...['a', 'b', 'c', 'd'].map((id) => track(id, 'greedy')), track('e', 'late'), track('f', 'late', 'audio')];
  const { taken, others } = limited.choose(crowd);
  assert.deepEqual(
    [idsOf(taken), idsOf(others)],
    [
      ['a', 'b', 'e', 'f'],
      ['c', 'd'],
    ],
  );
  const { kept, told, newest } = await keep({ audio: 1, video: 3 });
  kept.receive(crowd);
  kept.receive(crowd);
  assert.deepEqual(
    told.map(([id]) => id),
    ['c', 'd'],
  );
  kept.receive(crowd.slice(2));
  assert.deepEqual(newest().received, ['c', 'd', 'e', 'f']);
});
