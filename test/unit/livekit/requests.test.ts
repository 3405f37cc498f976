// Requests of LiveKit clients: frames of their protocol, valid, invalid and mutated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AddTrackRequest,
  MuteTrackRequest,
  SessionDescription,
  SignalRequest,
  UpdateParticipantMetadata,
  UpdateTrackSettings,
} from '@livekit/protocol';
import { readRequest } from '../../../node/livekit/requests.ts';

type Message = NonNullable<ConstructorParameters<typeof SignalRequest>[0]>['message'];
const frame = (message: Message) => Buffer.from(new SignalRequest({ message }).toBinary());

const track = new AddTrackRequest({
  cid: 'c',
  name: 'camera',
  type: 1,
  source: 1,
  width: 640,
  height: 360,
  layers: [{ quality: 2, width: 640 }],
});
const frames = [
  frame({ case: 'offer', value: new SessionDescription({ type: 'offer', sdp: 'v=0\r\n', id: 1 }) }),
  frame({ case: 'addTrack', value: track }),
  frame({ case: 'trackSetting', value: new UpdateTrackSettings({ trackSids: ['TR_a', 'TR_b'], width: 320, height: 180 }) }),
  frame({
    case: 'updateMetadata',
    value: new UpdateParticipantMetadata({ name: 'n', metadata: '{}', attributes: { a: 'b' }, requestId: 1 }),
  }),
  frame({ case: 'ping', value: 5n }),
];

test('the fields of a request are read, and cases that the server does not need are ignored', () => {
  assert.deepEqual(readRequest(frames[0] as Buffer), { method: 'offer', data: { type: 'offer', sdp: 'v=0\r\n', id: 1 } });
  const added = readRequest(frames[1] as Buffer);
  assert.deepEqual(added?.method === 'addTrack' && [added.data.cid, added.data.layers], [
    'c',
    [{ quality: 2, width: 640, height: 0, bitrate: 0 }],
  ]);
  assert.deepEqual(readRequest(frames[4] as Buffer), { method: 'ping', data: 5n });
  assert.equal(readRequest(frame({ case: 'simulate', value: {} })), undefined);
  assert.equal(readRequest(Buffer.alloc(0)), undefined);
});

for (const [name, message, expected] of [
  ['a track of another type', { case: 'addTrack', value: new AddTrackRequest({ cid: 'c', type: 2 }) }, /^addTrack: .*type/],
  ['a track without a cid', { case: 'addTrack', value: new AddTrackRequest({}) }, /^addTrack: .*cid/],
  ['a SID with a line break', { case: 'mute', value: new MuteTrackRequest({ sid: 'TR_\na' }) }, /^mute: .*sid/],
  ['a long name', { case: 'addTrack', value: new AddTrackRequest({ cid: 'c', name: 'x'.repeat(257) }) }, /^addTrack: .*name/],
  [
    'too many tracks',
    { case: 'trackSetting', value: new UpdateTrackSettings({ trackSids: Array(4_097).fill('TR_a') }) },
    /^trackSetting: .*trackSids/,
  ],
] as const satisfies [string, Message, RegExp][]) {
  test(`${name} is rejected with the name of the field`, () => {
    assert.throws(() => readRequest(frame(message)), { code: 'bad_request', message: expected });
  });
}

test('bytes that are no message are rejected, also groups that are nested deeply', () => {
  for (const bytes of [Buffer.from([0xff]), Buffer.alloc(200_000, 0x0b)])
    assert.throws(() => readRequest(bytes), { code: 'bad_request', message: 'The frame is not a SignalRequest' });
});
