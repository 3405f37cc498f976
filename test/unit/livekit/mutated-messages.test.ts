// Mutated messages of LiveKit clients: each is executed, ignored or rejected with one message, and none crashes a peer. `npm run fuzz` sends
// 100,000.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  AddTrackRequest,
  MuteTrackRequest,
  SessionDescription,
  SignalRequest,
  SubscriptionPermission,
  SyncState,
  UpdateParticipantMetadata,
  UpdateSubscription,
  UpdateTrackSettings,
} from '@livekit/protocol';
import { pino } from 'pino';
import { ServiceError } from '../../../api/errors.ts';
import { TokenBucket } from '../../../node/common/token-bucket.ts';
import { readConnection } from '../../../node/livekit/connection-query.ts';
import { trackSid } from '../../../node/livekit/ids.ts';
import { livekitLimits } from '../../../node/livekit/limits.ts';
import { LiveKitSession } from '../../../node/livekit/session.ts';
import type { BinaryListener, BinarySocket } from '../../../node/websocket/binary-acceptor.ts';
import { connectPeer } from '../../kit/fakes/rooms.ts';
import { ByteFuzzer } from '../../kit/fuzzer.ts';
import { makeLiveKitRooms } from '../../kit/livekit/livekit-rooms.ts';
import { joinRequestText } from '../../kit/livekit/livekit-socket.ts';
import { receivingOffer } from '../../kit/livekit/receiving-offer.ts';
import { mutateSdp } from '../../kit/media/mutated-sdp.ts';
import { offers } from '../../kit/media/sdp-offers.ts';
import { turns } from '../../kit/turns.ts';

/** A tenth of the packets of the other protocols. */
const count = Number(process.env.FUZZ_PACKETS ?? 20_000) / 10;
const seed = Number(process.env.FUZZ_SEED ?? 1);
const maxMessage = 400;
const messagesPerSession = 25;

type Request = NonNullable<ConstructorParameters<typeof SignalRequest>[0]>['message'];
const frame = (message: Request) => Buffer.from(new SignalRequest({ message }).toBinary());
const sids = [trackSid('video'), trackSid('audio')];
const layers = [{ quality: 2, width: 640 }];
const samples = [
  frame({
    case: 'addTrack',
    value: new AddTrackRequest({ cid: 'c', name: 'camera', type: 1, source: 1, width: 640, height: 360, layers }),
  }),
  frame({ case: 'mute', value: new MuteTrackRequest({ sid: 'TR_a', muted: true }) }),
  frame({ case: 'subscription', value: new UpdateSubscription({ trackSids: sids, subscribe: true }) }),
  frame({ case: 'subscription', value: new UpdateSubscription({ trackSids: sids }) }),
  frame({ case: 'trackSetting', value: new UpdateTrackSettings({ trackSids: sids, width: 320, height: 180 }) }),
  frame({
    case: 'subscriptionPermission',
    value: new SubscriptionPermission({ trackPermissions: [{ participantIdentity: 'own', trackSids: sids }] }),
  }),
  frame({ case: 'trackSetting', value: new UpdateTrackSettings({ trackSids: sids, disabled: true }) }),
  frame({ case: 'updateMetadata', value: new UpdateParticipantMetadata({ name: 'n', metadata: '{}', attributes: { a: 'b' } }) }),
  frame({ case: 'syncState', value: new SyncState({ publishTracks: [{ cid: 'c' }], datachannelReceiveStates: [{ publisherSid: 'PA' }] }) }),
  frame({ case: 'ping', value: 5n }),
];
const answer = offers.chromium.replaceAll('a=setup:actpass', 'a=setup:active');

/** A room with a publisher, and a peer `ada` whose sessions record what they reject. */
async function start(t: TestContext) {
  const { rooms } = await makeLiveKitRooms(t);
  await rooms.addPeer('room', { type: 'webrtc', peerId: 'own' });
  const { peer: own, send } = await connectPeer(rooms, 'room', 'own');
  for (const kind of ['video', 'audio'] as const)
    await own.session.publications.publish({ transportId: send, trackId: kind, kind, rtpParameters: {}, paused: false });
  await rooms.addPeer('room', { type: 'webrtc', peerId: 'ada' });
  const peer = rooms.room('room').peers.get('ada');
  const crashes = t.mock.method(peer, 'crash');
  t.after(() => rooms.close('test'));
  const reasons: string[] = [];
  const log = pino({ level: 'debug', base: null }, { write: (line: string) => note(JSON.parse(line)) });
  const note = ({ level, reason, msg, err }: { level: number; reason?: string; msg: string; err?: { stack: string } }) => {
    assert.ok(level < 50, `${msg}: ${err?.stack}`);
    if (reason !== undefined) reasons.push(reason);
  };
  let opened = 0;
  const open = async () => {
    opened += 1;
    const ended = Promise.withResolvers<void>();
    const session = new LiveKitSession(peer, {
      ...{ log, limits: livekitLimits, rateLimit: () => null, work: new TokenBucket(() => null, 1), resumeWindow: () => 0 },
      ...{
        iceServers: () => [],
        identityOf: (id) => id,
        isAgent: () => false,
        getsPackets: () => false,
        autoSubscribe: true,
        fastPublish: false,
        single: opened % 2 === 0,
        renewToken: async () => undefined,
        rejoinToken: async () => undefined,
        rejoin: false,
        holdEvents: false,
        ended: ended.resolve,
      },
    });
    const socket = new StubSocket();
    await session.start(socket as unknown as BinarySocket, { token: '', expiresAt: Number.MAX_SAFE_INTEGER }, []);
    return { session, socket, ended: ended.promise };
  };
  return { open, reasons, crashes };
}

/** Of a session: what it uses of a socket, without a network. */
class StubSocket {
  open = true;
  listener: BinaryListener = { message: () => {}, lost: () => {} };

  listen(listener: BinaryListener): void {
    this.listener = listener;
  }

  send(): void {}
  watch(): void {}

  close(): void {
    this.open = false;
  }

  refuse(): void {
    this.open = false;
    this.listener.lost(4400, '', 0);
  }
}

function assertMessages(reasons: readonly string[], atLeast: number): void {
  for (const reason of reasons) {
    assert.match(reason, /^[A-Za-z][^\n]*$/);
    assert.ok(reason.length <= maxMessage, reason);
  }
  const different = new Set(reasons.map((reason) => reason.replace(/\d+/g, 'N')));
  // The mutations reach many checks.
  assert.ok(different.size >= atLeast, [...different].join('\n'));
}

test('mutated requests, offers and answers end a session at most', { timeout: 90_000 + 10 * count }, async (t) => {
  const { open, reasons, crashes } = await start(t);
  const fuzzer = new ByteFuzzer(seed);
  const texts = [...Object.values(offers), receivingOffer(['audio', 'video', 'video']).sdp];
  const message = (): Buffer => {
    const choice = fuzzer.below(4);
    if (choice > 1) return fuzzer.mutate(samples);
    const name = choice === 0 ? 'offer' : 'answer';
    const sdp = mutateSdp(fuzzer, choice === 0 ? texts : [answer]);
    return frame({ case: name, value: new SessionDescription({ type: name, sdp, id: fuzzer.below(2) }) });
  };
  for (let sent = 0; sent < count; ) {
    const { session, socket, ended } = await open();
    for (const bytes of Array.from({ length: messagesPerSession }, message)) {
      if (!socket.open) break;
      sent += 1;
      socket.listener.message(bytes, bytes.length);
      // Before the next one, so that it meets the state that this one left.
      if (fuzzer.below(4) === 0) await turns();
    }
    // After the requests before it.
    if (socket.open) socket.listener.message(frame({ case: 'leave', value: {} }), 2);
    else session.leave('peerRemoved');
    await ended;
  }
  assert.equal(crashes.mock.callCount(), 0);
  assertMessages(reasons, 15);
});

test('mutated addresses of the websocket are read or rejected with one message', () => {
  const fuzzer = new ByteFuzzer(seed);
  const urls = [
    '/rtc?access_token=a.b.c&auto_subscribe=1&reconnect=1&sid=PA_abc&sdk=js&protocol=16',
    '/rtc?access_token=a.b.c',
    `/rtc/v1?access_token=a.b.c&join_request=${joinRequestText({ publisherOffer: receivingOffer(['audio', 'video']) })}`,
  ];
  const results = { read: 0, rejected: 0 };
  for (let index = 0; index < count; index += 1) {
    try {
      readConnection({ url: fuzzer.mutate(urls.map((url) => Buffer.from(url))).toString('latin1'), authorization: undefined });
      results.read += 1;
    } catch (error) {
      assert.ok(error instanceof ServiceError, String(error));
      assertMessages([error.message], 1);
      results.rejected += 1;
    }
  }
  assert.ok(
    Object.values(results).every((each) => each > count / 100),
    JSON.stringify(results),
  );
});
