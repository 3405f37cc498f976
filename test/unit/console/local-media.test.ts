// Local media: changing a device that is off must not turn it on.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import { fieldsOf } from '../../kit/fields.ts';

/** Fake mediaDevices with a new track per request. */
const opened: FakeMediaStreamTrack[] = [];
const mediaDevices = Object.assign(new EventTarget(), {
  getUserMedia: async ({ video }: { video?: object }) => {
    const track = new FakeMediaStreamTrack({ kind: video ? 'video' : 'audio' });
    opened.push(track);
    return { getTracks: () => [track] };
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
