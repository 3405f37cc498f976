// Process supervisor: drops tracks that crash the process, restarts it for the others, and applies fair limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DroppedTracks } from '../../../../node/components/process/dropped-tracks.ts';
import {
  type ProcessCallbacks,
  ProcessSupervisor,
  type SupervisedProcess,
} from '../../../../node/components/process/process-supervisor.ts';
import type { SubscribableTrack } from '../../../../node/rooms/interfaces.ts';
import { silentLog } from '../../../kit/silent-log.ts';

function track(id: string, peerId: string, kind: 'audio' | 'video' = 'video'): SubscribableTrack {
  return { id, origin: { peerId }, kind, encoding: kind === 'video' ? 'vp8' : 'opus', metadata: null };
}

const idsOf = (tracks: readonly SubscribableTrack[]) => tracks.map(({ id }) => id);

async function keep(limits = { audio: 10, video: 10 }) {
  const made: { callbacks: ProcessCallbacks; careful: boolean; received: string[] }[] = [];
  const reported: string[][] = [];
  const crashes: string[] = [];
  let next = Promise.withResolvers<void>();
  const kept = new ProcessSupervisor<SupervisedProcess, string>({
    host: {
      log: silentLog(),
      crashed: (reason) => crashes.push(reason),
      trackDropped: (...drop) => reported.push(drop),
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
  const newest = () => made.at(-1) ?? assert.fail('no process was created');
  await kept.start();
  /** Resolves when another process is running. */
  const crash = async (...tracks: string[]) => {
    next = Promise.withResolvers();
    newest().callbacks.onCrashed('The process was ended by SIGABRT', tracks);
    if (crashes.length === 0) await next.promise;
  };
  return { kept, made, reported, crashes, newest, crash };
}

test('a track that crashes the process is dropped with a reason, and uses no restart of the budget', async () => {
  const { kept, reported, crashes, newest, crash } = await keep();
  kept.receive([track('a', 'good'), ...['b', 'c', 'd'].map((id) => track(id, 'bad'))]);
  await crash('b');
  assert.deepEqual(newest().received, ['a', 'c', 'd']);
  assert.deepEqual(reported, [['b', 'Track crashed the recorder: The process was ended by SIGABRT']]);
  // After two crashes, all tracks of the peer are dropped.
  await crash('c');
  assert.deepEqual(newest().received, ['a']);
  for (let count = 0; count < 3; count += 1) await crash();
  assert.deepEqual(crashes, []);
  await crash();
  assert.deepEqual(crashes, ['The recorder crashed too often: The process was ended by SIGABRT']);
});

test('after a crash with several suspects the next process is careful, and a repeated suspect is dropped', async () => {
  const { kept, reported, newest, crash } = await keep();
  kept.receive(['a', 'b', 'c'].map((id) => track(id, id)));
  await crash('a', 'b');
  assert.ok(newest().careful);
  assert.deepEqual([newest().received, reported], [['a', 'b', 'c'], []]);
  await crash('b', 'c');
  assert.deepEqual([newest().received, newest().careful], [['a', 'c'], false]);
  assert.deepEqual(
    reported.map(([id]) => id),
    ['b'],
  );
});

test('a track that the process reports as broken is dropped without a restart', async () => {
  const { kept, reported, newest, made } = await keep();
  const tracks = ['a', 'b'].map((id) => track(id, id));
  kept.receive(tracks);
  newest().callbacks.onTrackBroken('a', 'Could not record track: nonsense');
  kept.receive(tracks);
  assert.deepEqual([newest().received, reported, made.length], [['b'], [['a', 'Could not record track: nonsense']], 1]);
});

test('tracks above the limit are dropped from the source with the most, and reported once', async () => {
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
  const { kept, reported, newest } = await keep({ audio: 1, video: 3 });
  kept.receive(crowd);
  kept.receive(crowd);
  assert.deepEqual(
    reported.map(([id]) => id),
    ['c', 'd'],
  );
  kept.receive(crowd.slice(2));
  assert.deepEqual(newest().received, ['c', 'd', 'e', 'f']);
});

test('the work is finished once, after the last process has ended', async () => {
  const order: string[] = [];
  const supervisor = new ProcessSupervisor<SupervisedProcess, string>({
    host: { log: silentLog(), crashed: () => {}, trackDropped: () => {} },
    name: 'recorder',
    facts: () => ({}),
    begin: async () => 'work',
    make: () => ({ pid: 1, start: async () => {}, receive: () => {}, close: async () => void order.push('process') }),
    onCrashed: () => undefined,
    onClosed: async (work) => void order.push(work),
    limits: { audio: 1, video: 1 },
  });
  await supervisor.start();
  await Promise.all([supervisor.close(), supervisor.close()]);
  assert.deepEqual(order, ['process', 'work']);
});
