// Track feed: tracks that are removed and added again while they are being subscribed.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../../../api/errors.ts';
import { TrackFeed } from '../../../../node/components/process/track-feed.ts';
import type { EgressTrack, RtpEgress, SubscribableTrack } from '../../../../node/rooms/interfaces.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { turns } from '../../../kit/turns.ts';

const track: SubscribableTrack = { id: 't', kind: 'audio', encoding: 'opus', origin: { peerId: 'p' }, metadata: null };
const rtp: EgressTrack = { kind: 'audio', ssrc: 1, payloadType: 100, clockRate: 48_000, channels: 2 };

/** The test controls when subscriptions complete. */
function setup(t: TestContext) {
  const asked: PromiseWithResolvers<EgressTrack>[] = [];
  const [unsubscribed, resumed]: [string[], string[]] = [[], []];
  const output: RtpEgress = {
    connect: async () => ({ ip: '127.0.0.1', port: 9 }),
    subscribe: () => {
      asked.push(Promise.withResolvers());
      return asked.at(-1)?.promise ?? Promise.reject(new Error('not there'));
    },
    resume: async (id) => void resumed.push(id),
    unsubscribe: (id) => void unsubscribed.push(id),
    close: () => {},
  };
  const [added, removed]: [string[], number[]] = [[], []];
  const tracks = new TrackFeed({
    host: { log: silentLog(), openOutput: () => output },
    takes: (each): each is SubscribableTrack => each.kind === 'audio',
    add: ({ id }) => added.push(id),
    remove: (number) => removed.push(number),
  });
  t.after(() => tracks.close());
  return { tracks, asked, unsubscribed, resumed, added, removed };
}

test('a track that is removed and added again while subscribing is received, whatever the first result', async (t) => {
  for (const first of ['refused', 'made'] as const) {
    const { tracks, asked, unsubscribed, resumed, added, removed } = setup(t);
    tracks.receive([track]);
    tracks.receive([]);
    tracks.receive([track]);
    assert.deepEqual([asked.length, unsubscribed], [2, ['t']]);
    if (first === 'refused') asked[0]?.reject(new ServiceError('track_not_found', 'Track t does not exist'));
    else asked[0]?.resolve(rtp);
    await turns();
    assert.deepEqual([added, unsubscribed], [[], ['t']], first);
    asked[1]?.resolve(rtp);
    await turns();
    assert.deepEqual([added, unsubscribed], [['t'], ['t']], first);
    tracks.added(1);
    tracks.receive([]);
    assert.deepEqual([resumed, removed, unsubscribed], [['t'], [1], ['t', 't']], first);
  }
});

test('a track that is removed while subscribing is unsubscribed and not announced', async (t) => {
  const { tracks, asked, unsubscribed, added, removed } = setup(t);
  tracks.receive([track]);
  tracks.receive([]);
  asked[0]?.resolve(rtp);
  await turns();
  assert.deepEqual([added, removed, unsubscribed], [[], [], ['t', 't']]);
});
