// Backup codecs of LiveKit's unmodified client in Chromium: receivers that cannot decode VP9 get VP8, if there are any.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Colour } from '../kit/browser/client-page.ts';
import { css, enter, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

/** Resolves when the client encodes its video in exactly these codecs. */
async function encodes({ page }: LiveKitPeer, codecs: readonly string[]): Promise<void> {
  await eventuallyIn(
    page,
    (wanted) => {
      const [publication] = livekit.rooms.main?.room.localParticipant.videoTrackPublications.values() ?? [];
      const track = publication?.videoTrack as {
        codec?: string;
        sender?: RTCRtpSender;
        simulcastCodecs: Map<string, { sender?: RTCRtpSender }>;
      };
      const senders = [
        [track.codec, track.sender] as const,
        ...[...track.simulcastCodecs].map(([codec, { sender }]) => [codec, sender] as const),
      ];
      const active = senders.filter(([, sender]) => sender?.getParameters().encodings.some((encoding) => encoding.active));
      return active.map(([codec]) => codec).join() === wanted;
    },
    codecs.join(),
  );
}

async function receives({ page }: LiveKitPeer, codec: string): Promise<void> {
  await eventuallyIn(page, async (wanted) => (await livekit.rooms.main?.codecOf('ada')) === wanted, codec);
}

/** A player that decodes VP8 only. */
function play(page: Page, url: string, token: string): Promise<void> {
  return page.evaluate(
    async ([endpoint, bearer]) => {
      const connection = new RTCPeerConnection();
      const { codecs = [] } = RTCRtpReceiver.getCapabilities('video') ?? {};
      const transceiver = connection.addTransceiver('video', { direction: 'recvonly' });
      transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => /vp8|rtx/i.test(mimeType)));
      const video = Object.assign(document.createElement('video'), { muted: true, autoplay: true });
      video.srcObject = new MediaStream([transceiver.receiver.track]);
      document.body.append(video);
      await connection.setLocalDescription();
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/sdp' };
      const response = await fetch(endpoint, { method: 'POST', headers, body: connection.localDescription?.sdp ?? '' });
      if (response.status !== 201) throw new Error(await response.text());
      await connection.setRemoteDescription({ type: 'answer', sdp: await response.text() });
    },
    [url, token] as const,
  );
}

async function shows(page: Page, colour: Colour): Promise<void> {
  await eventuallyIn(
    page,
    async (wanted) => {
      const video = document.querySelector('video');
      const seen = video && video.videoWidth > 0 ? await kit.probe(video) : undefined;
      return seen && seen.change > 0.5 && seen.colour.every((value, index) => Math.abs(value - (wanted[index] ?? 0)) < 40);
    },
    colour,
  );
}

test('a client that publishes VP9 sends VP8 too while a receiver of any protocol needs it', async (t) => {
  const fixture = await startLiveKitFixture(t);
  const { node, browser, pageUrl, roomId } = fixture;
  const ada = await LiveKitPeer.join(fixture, 'ada');
  const carol = await LiveKitPeer.join(fixture, 'carol');
  await ada.publish({ colour: css(red), width: 640, height: 360, videoCodec: 'vp9' });
  await carol.sees(ada, red);
  await receives(carol, 'video/VP9');
  await encodes(ada, ['vp9']);

  const bob = await LiveKitPeer.join(fixture, 'bob', { without: 'VP9' });
  await bob.sees(ada, red);
  await receives(bob, 'video/VP8');
  await encodes(ada, ['vp9', 'vp8']);
  await carol.sees(ada, red);
  await receives(carol, 'video/VP9');
  const [track] = (await node.api.get(`/room/${roomId}/peer/ada`)).body.data.peer.tracks;
  const { peers } = (await node.api.get(`/room/${roomId}/stats`)).body.data;
  const statsOf = (identity: string) =>
    peers.find(({ externalId, id }: { externalId: string; id: string }) => [externalId, id].includes(identity));
  assert.deepEqual(
    statsOf('ada').published.map(({ trackId }: { trackId: string }) => trackId),
    [track.id],
  );
  assert.deepEqual(
    statsOf('bob').received.map(({ trackId }: { trackId: string }) => trackId),
    [track.id],
  );

  await node.api.delete(`/room/${roomId}/peer/bob`);
  await encodes(ada, ['vp9']);
  const { token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', options: {}, peerId: 'player' })).body.data;
  const page = await browser.newPage(pageUrl);
  await play(page, `${node.url}/whep/${roomId}`, token);
  await shows(page, red);
  await encodes(ada, ['vp9', 'vp8']);
  await node.api.delete(`/room/${roomId}/peer/player`);
  await encodes(ada, ['vp9']);

  await node.api.delete(`/room/${roomId}/peer/carol`);
  await encodes(ada, []);
  const own = await enter(fixture, 'own');
  await own.sees(ada, red);
  await encodes(ada, ['vp9']);
});

test('a receiver that cannot decode VP9 is in the room before a client publishes it', async (t) => {
  const fixture = await startLiveKitFixture(t);
  const bob = await LiveKitPeer.join(fixture, 'bob', { without: 'VP9' });
  for (const name of ['ada', 'eve']) {
    const publisher = await LiveKitPeer.join(fixture, name);
    await publisher.publish({ colour: css(red), width: 640, height: 360, videoCodec: 'vp9' });
    await bob.sees(publisher, red);
  }
});
