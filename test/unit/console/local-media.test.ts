// Local media: changing a device that is off must not turn it on; released devices are opened again as they were.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import { fieldsOf } from '../../kit/fields.ts';

/** Fake mediaDevices with a new track per request. */
const opened: FakeMediaStreamTrack[] = [];
const mediaDevices = Object.assign(new EventTarget(), {
  getUserMedia: async (wanted: { video?: object; audio?: object }) => {
    const kinds = (['video', 'audio'] as const).filter((kind) => wanted[kind]);
    const tracks = kinds.map((kind) => new FakeMediaStreamTrack({ kind }));
    opened.push(...tracks);
    const of = (wantedKind: string) => tracks.filter(({ kind }) => kind === wantedKind);
    return { getTracks: () => tracks, getVideoTracks: () => of('video'), getAudioTracks: () => of('audio') };
  },
  enumerateDevices: async () => [],
});
const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
Object.defineProperty(globalThis, 'navigator', { value: { mediaDevices }, configurable: true });
Object.defineProperty(globalThis, 'HTMLMediaElement', { value: class {}, configurable: true });
after(() => {
  if (before) Object.defineProperty(globalThis, 'navigator', before);
  Reflect.deleteProperty(globalThis, 'HTMLMediaElement');
});

test('another microphone replaces the previous one in one update and keeps its on or off state', async () => {
  const { LocalMedia } = await import('../../../packages/console/src/session/local-media.ts');
  const media = new LocalMedia();
  await media.open('microphone');
  await media.toggleMicrophone();
  const seen: string[] = [];
  media.subscribe(() => {
    const { microphone, microphoneOn } = media.state;
    seen.push(microphone === undefined ? 'gone' : microphoneOn || microphone.enabled ? 'on' : 'off');
  });
  await media.choose('microphone', 'other');
  assert.equal(media.state.microphone, opened[1]);
  assert.deepEqual([...new Set(seen)], ['off']);
  assert.deepEqual([opened.length, opened[0]?.readyState, opened[1]?.readyState], [2, 'ended', 'live']);
  await media.toggleMicrophone();
  seen.length = 0;
  await media.choose('microphone', 'third');
  assert.equal(media.state.microphone, opened[2]);
  assert.deepEqual([...new Set(seen)], ['on']);
  // Turned off while the next one is being opened.
  const chosen = media.choose('microphone', 'fourth');
  await media.toggleMicrophone();
  await chosen;
  assert.deepEqual([media.state.microphone === opened[3], media.state.microphoneOn, opened[3]?.enabled], [true, false, false]);
  media.close();
  assert.ok(opened.every(({ readyState }) => readyState === 'ended'));
});

test('a camera that is turned off while another one is being opened stays off', async () => {
  const { LocalMedia } = await import('../../../packages/console/src/session/local-media.ts');
  for (const switchOff of ['toggleCamera', 'turnOff'] as const) {
    opened.length = 0;
    const media = new LocalMedia();
    await media.open('camera');
    const chosen = media.choose('camera', 'other');
    if (switchOff === 'turnOff') media.turnOff('camera');
    else await media.toggleCamera();
    await chosen;
    assert.equal(media.state.camera, undefined, switchOff);
    assert.deepEqual(fieldsOf(opened, 'readyState'), ['ended', 'ended']);
    await media.toggleCamera();
    assert.equal(media.state.camera, opened[2]);
    media.close();
  }
});

test('released devices are closed, and opened again in their previous states', async () => {
  const { LocalMedia } = await import('../../../packages/console/src/session/local-media.ts');
  const states = ({ state: { camera, microphone, microphoneOn } }: InstanceType<typeof LocalMedia>) => [
    camera?.readyState,
    microphone?.readyState,
    microphoneOn,
    microphone?.enabled,
  ];
  opened.length = 0;
  const media = new LocalMedia();
  await media.start();
  await media.toggleMicrophone();
  assert.deepEqual(states(media), ['live', 'live', false, false]);
  media.release();
  // The end of a session may be reported twice.
  media.release();
  assert.deepEqual(states(media), [undefined, undefined, false, undefined]);
  assert.ok(opened.every(({ readyState }) => readyState === 'ended'));
  await media.start();
  assert.deepEqual(states(media), ['live', 'live', false, false]);
  await media.toggleCamera();
  await media.toggleMicrophone();
  media.release();
  await media.start();
  assert.deepEqual(states(media), [undefined, 'live', true, true]);
  // A device that is still being opened is not turned on later.
  const late = media.open('camera');
  media.release();
  await late;
  assert.equal(media.state.camera, undefined);
  assert.ok(opened.every(({ readyState }) => readyState === 'ended'));
  media.close();
});
