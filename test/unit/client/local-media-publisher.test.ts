// Local media publisher: switching during publication, removed, rejected and ended tracks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LocalTrack, RequestError, RoomClosedError, type RoomEvents } from '../../../packages/client/src/index.ts';
import { LocalMediaPublisher, type MediaEnabled } from '../../../packages/client/src/react/local-media-publisher.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { turns } from '../../kit/turns.ts';

type Publication = { kind: string; paused: boolean | undefined; resolve: (local: LocalTrack) => void; reject: (error: Error) => void };
type Ended = RoomEvents['localTrackEnded'];

const source = (kind: 'audio' | 'video', readyState = 'live') => ({ kind, readyState }) as MediaStreamTrack;
/** A published track that records its calls. */
function local(kind: 'audio' | 'video', paused = false): LocalTrack & { asked: string[] } {
  const asked: string[] = [];
  const track = { kind, paused, asked } as unknown as LocalTrack & { asked: string[]; paused: boolean };
  const note = (what: string, then = () => {}) => {
    asked.push(what);
    then();
    return Promise.resolve();
  };
  return Object.assign(track, {
    pause: () => note('pause', () => Object.assign(track, { paused: true })),
    resume: () => note('resume', () => Object.assign(track, { paused: false })),
    unpublish: () => note('unpublish'),
  });
}

function setup(tracks = [source('audio'), source('video')], on: MediaEnabled = { audio: true, video: true }) {
  const publications: Publication[] = [];
  const reported: string[] = [];
  let end: ((ended: Ended) => void) | undefined;
  const sender = new LocalMediaPublisher({
    room: {
      publish: (track, options) =>
        new Promise((resolve, reject) => publications.push({ kind: track.kind, paused: options?.paused, resolve, reject })),
      on: (_, listener) => {
        end = listener as (ended: Ended) => void;
        return () => {
          end = undefined;
        };
      },
    },
    stream: { getTracks: () => tracks },
    metadata: undefined,
    on,
    changed: () => {},
    problem: (error) => reported.push(error.message),
    off: (kind) => reported.push(`${kind} off`),
  });
  return { sender, publications, reported, end: (ended: Ended) => end?.(ended), listens: () => end !== undefined };
}

test('a switch during publication applies once the track is published', async () => {
  const { sender, publications } = setup(undefined, { audio: false, video: true });
  assert.deepEqual(fieldsOf(publications, 'kind', 'paused'), [
    ['audio', true],
    ['video', false],
  ]);
  const [audio, video] = [local('audio', true), local('video')];
  sender.set('audio', true);
  sender.set('video', false);
  publications[0]?.resolve(audio);
  publications[1]?.resolve(video);
  await turns();
  assert.deepEqual([audio.asked, video.asked], [['resume'], ['pause']]);
  sender.set('video', true);
  await turns();
  assert.deepEqual(video.asked, ['pause', 'resume']);
  assert.equal(publications.length, 2);
});

test('close() unpublishes published tracks, and pending ones as soon as they are published', async () => {
  const { sender, publications, reported, listens } = setup();
  const [audio, video] = [local('audio'), local('video')];
  publications[0]?.resolve(audio);
  await turns();
  sender.close();
  sender.close();
  publications[1]?.resolve(video);
  await turns();
  assert.deepEqual([audio.asked, video.asked, reported, listens()], [['unpublish'], ['unpublish'], [], false]);
});

test('a track removed by the server is off, with a message, and is published again when switched on', async () => {
  const { sender, publications, reported, end } = setup([source('video')]);
  const video = local('video');
  publications[0]?.resolve(video);
  await turns();
  end({ track: local('video'), reason: 'removed' });
  assert.deepEqual(reported, [], 'a track of another publisher in the page');
  end({ track: video, reason: 'removed' });
  assert.deepEqual(reported, ['video off', 'The camera was removed by the server']);
  assert.equal(sender.set('video', false), true);
  assert.equal(publications.length, 1);
  assert.equal(sender.set('video', true), true);
  assert.deepEqual([publications.length, publications[1]?.paused], [2, false]);
});

test('an ended source must be requested again', async () => {
  const tracks = [source('audio')];
  const { sender, publications, reported, end } = setup(tracks);
  const audio = local('audio');
  publications[0]?.resolve(audio);
  await turns();
  tracks[0] = source('audio', 'ended');
  end({ track: audio, reason: 'ended' });
  assert.deepEqual(reported, ['audio off', 'The microphone ended: its device may be disconnected']);
  assert.equal(sender.set('audio', true), false);
  assert.equal(sender.set('video', true), true, 'there was no such track');
  assert.equal(publications.length, 1);
});

test('a rejected track is off; a track that ends with its room keeps its state for the next one', async () => {
  const { publications, reported } = setup();
  publications[0]?.reject(new RequestError('forbidden', 'This peer must not send audio'));
  publications[1]?.reject(new RoomClosedError({ reason: 'roomStopped', code: 1000, message: 'The room was stopped', canRetry: false }));
  await turns();
  assert.deepEqual(reported, ['audio off', 'This peer must not send audio', 'The room was stopped']);
});
