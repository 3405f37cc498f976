// End-to-end encryption in Chromium: LiveKit's unmodified client with its worker, and the client library with a transform of the application.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportSchema } from '../../api/recording-report.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { blue, type ClientFixture, css, enter, PagePeer, red, startClientFixture } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

/** Packets of a track among which are frames that a client with the key decodes. */
const manyPackets = 100;

/** Decoded frames of a video, once many packets of it and of the audio have arrived. */
async function framesOf(peer: LiveKitPeer, other: { id: string }): Promise<number> {
  const arrived = await eventuallyIn(
    peer.page,
    async ([identity, many]) => {
      const { Audio, Video } = livekit.Track.Kind;
      const both = await Promise.all([Audio, Video].map((kind) => livekit.rooms.main?.arrivedOf(identity, kind)));
      return both.every((each) => each && each.packets > many) && both[1];
    },
    [other.id, manyPackets] as const,
  );
  return arrived ? arrived.frames : 0;
}

test("LiveKit's encryption passes through: clients with the key see, hear, read and switch layers, others do not", async (t) => {
  const fixture = await startLiveKitFixture(t);
  const ada = await LiveKitPeer.join(fixture, 'ada', { key: 'secret' });
  const bob = await LiveKitPeer.join(fixture, 'bob', { key: 'secret' });
  const eve = await LiveKitPeer.join(fixture, 'eve', { key: 'guess' });
  const own = await enter(fixture, 'own');
  await ada.publish({ colour: css(red), width: 1280, height: 720, tone: 440 });
  await bob.publish({ colour: css(blue), tone: 660 });
  await Promise.all([bob.sees(ada, red), bob.hears(ada, 440), ada.sees(bob, blue), ada.hears(bob, 660)]);

  const { tracks } = (await fixture.node.api.get(`/room/${fixture.roomId}/peer/ada`)).body.data.peer;
  assert.deepEqual(
    tracks.map((track: { encoding: string; simulcast: boolean; encrypted: boolean }) => [track.encoding, track.simulcast, track.encrypted]),
    [
      ['vp8', true, true],
      ['opus', false, true],
    ],
  );
  assert.deepEqual(await own.page.evaluate(() => kit.rooms.main?.room.peers.get('ada')?.tracks.map(({ encrypted }) => encrypted)), [
    true,
    true,
  ]);

  // With another key, everything arrives and nothing can be decoded.
  await eve.waitForNote('encryptionError', 'ada');
  assert.equal(await framesOf(eve, ada), 0);
  assert.equal(await eve.page.evaluate(() => livekit.rooms.main?.toneOf('ada')), 0);

  // Each layer starts with a key frame, which the media worker finds.
  for (const [quality, least, most] of [
    ['LOW', 320, 320],
    ['HIGH', 321, 1_280],
    ['LOW', 320, 320],
  ] as const) {
    await bob.prefer(ada, quality);
    await bob.seesWidth(ada, least, most);
    await bob.sees(ada, red);
  }

  await ada.page.evaluate(async () => {
    const local = livekit.rooms.main?.room.localParticipant;
    await local?.publishData(new TextEncoder().encode('hi'), { reliable: true, topic: 'chat' });
  });
  await bob.waitForNote('data', ['ada', 'chat', 'hi']);
  assert.deepEqual([await eve.notes('data'), await own.notes('data')], [[], []]);
});

test('a recording leaves encrypted tracks out and reports them, and an encrypted room rejects further components', async (t) => {
  const fixture = await startLiveKitFixture(t, {
    SVC_COMPONENTS_USED: 'recording hls',
    SVC_RESOURCES_BASE_PATH: await makeResources(t),
  });
  const { node, roomId } = fixture;
  const { api } = node;
  const events = await watchEvents(t, node);
  const { id } = (await api.post(`/room/${roomId}/component`, { type: 'recording' })).body.data;
  const ada = await LiveKitPeer.join(fixture, 'ada', { key: 'secret' });
  await ada.publish({ tone: 440 });
  const dropped = await events.waitFor('roomEvent', ({ type }) => type === 'ComponentTrackDropped');
  assert.deepEqual(
    [dropped.componentId, dropped.reason, (dropped.track as { encrypted: boolean }).encrypted],
    [id, 'The track is end-to-end encrypted', true],
  );
  const own = await enter(fixture, 'own');
  await own.publish({ tone: 660 });
  const rejected = await api.post(`/room/${roomId}/component`, { type: 'hls' });
  assert.deepEqual(
    [rejected.status, rejected.body.code, rejected.body.errors],
    [409, 'conflict', `Room ${roomId} is end-to-end encrypted; a component of type hls cannot decode its tracks`],
  );
  const [recording = ''] = (await api.get('/recording')).body.data as string[];
  const report = async () => reportSchema.parse((await api.get(`/recording/${recording}`)).body);
  await eventually('the track of the other peer is recorded', async () => (await report()).tracks[0]?.startTime !== undefined);
  await api.delete(`/room/${roomId}/component/${id}`);
  assert.deepEqual(
    (await report()).tracks.map(({ origin }) => origin),
    [{ peerId: 'own' }],
  );
});

/** Source of a worker that hides frames, and shows hidden ones; not a cipher. The first bytes stay, as the node requires. */
const transform = `onrtctransform = ({ transformer: { readable, writable } }) => {
  const hide = (frame, controller) => {
    const bytes = new Uint8Array(frame.data);
    const clear = { key: 10, delta: 3 }[frame.type] ?? 1;
    frame.data = bytes.map((byte, index) => (index < clear ? byte : byte ^ 0x5a)).buffer;
    controller.enqueue(frame);
  };
  void readable.pipeThrough(new TransformStream({ transform: hide })).pipeTo(writable);
};`;

/** Joins with the client library and an encoded transform, and publishes. */
async function enterWithTransform({ node, browser, pageUrl, roomId }: ClientFixture, peerId: string, colour: string, tone: number) {
  const { token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId })).body.data;
  const page = await browser.newPage(pageUrl);
  const peer = new PagePeer(peerId, page);
  await page.evaluate(
    async (given) => {
      const worker = new Worker(URL.createObjectURL(new Blob([given.transform], { type: 'text/javascript' })));
      const main = new kit.TestRoom({
        ...{ url: given.url, token: given.token, fallbackUrls: [], logger: console },
        decrypt: (receiver, trackId) => {
          if (main.room.track(trackId)?.encrypted) receiver.transform = new RTCRtpScriptTransform(worker);
        },
      });
      kit.rooms.main = main;
      await main.room.join();
      const encrypt = (sender: RTCRtpSender) => {
        sender.transform = new RTCRtpScriptTransform(worker);
      };
      await Promise.all([kit.pattern(given.colour), kit.tone(given.tone)].map((track) => main.room.publish(track, { encrypt })));
    },
    { transform, token, url: node.peerSocketUrl, colour, tone },
  );
  return peer;
}

test('applications of the client library encrypt with their own transforms', async (t) => {
  const fixture = await startClientFixture(t);
  const ada = await enterWithTransform(fixture, 'ada', css(red), 440);
  const bob = await enterWithTransform(fixture, 'bob', css(blue), 660);
  const open = await enter(fixture, 'open');
  await open.publish({ tone: 880 });
  await Promise.all([bob.sees(ada, red), bob.hears(ada, 440), ada.sees(bob, blue), ada.hears(bob, 660), ada.hears(open, 880)]);
  assert.deepEqual(
    await open.page.evaluate(() => ['ada', 'open'].map((id) => kit.rooms.main?.room.peers.get(id)?.tracks.map((track) => track.encrypted))),
    [[true, true], undefined],
  );
});
