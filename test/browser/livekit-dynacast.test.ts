// Dynacast of LiveKit's unmodified client in Chromium: it encodes only what a receiver of the room needs, whatever its protocol.
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { css, enter, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

/** Layers of a video of 640 x 360. */
const both = ['q', 'h'];

/** Resolves when the client encodes exactly these layers of its video. */
async function encodes({ page }: LiveKitPeer, rids: readonly string[]): Promise<void> {
  await eventuallyIn(
    page,
    (wanted) => {
      const [publication] = livekit.rooms.main?.room.localParticipant.videoTrackPublications.values() ?? [];
      const encodings = publication?.track?.sender?.getParameters().encodings;
      return encodings?.flatMap(({ active, rid }) => (active ? (rid ?? '') : [])).join() === wanted;
    },
    rids.join(),
  );
}

/** Changes what the client shows of the video of `ada`. */
async function choose({ page }: LiveKitPeer, wanted: { quality: 'LOW' | 'HIGH' } | { enabled: boolean }): Promise<void> {
  await page.evaluate((change) => {
    const [publication] = livekit.rooms.main?.room.remoteParticipants.get('ada')?.videoTrackPublications.values() ?? [];
    if ('quality' in change) publication?.setVideoQuality(livekit.VideoQuality[change.quality]);
    else publication?.setEnabled(change.enabled);
  }, wanted);
}

/** Resolves when the client shows a video of `ada` that is as wide as the smallest layer, or wider. */
async function showsLayer({ page }: LiveKitPeer, smallest: boolean): Promise<void> {
  await eventuallyIn(
    page,
    async (small) => {
      const { width = 0 } = (await livekit.rooms.main?.frameOf('ada')) ?? {};
      return width > 0 && (width === 320) === small;
    },
    smallest,
  );
}

test('a client with dynacast encodes the layers that receivers of any protocol, or a recording, need', async (t) => {
  const fixture = await startLiveKitFixture(t, { SVC_COMPONENTS_USED: 'recording', SVC_RESOURCES_BASE_PATH: await makeResources(t) });
  const { node, roomId } = fixture;
  const ada = await LiveKitPeer.join(fixture, 'ada', { room: { dynacast: true } });
  await ada.publish({ colour: css(red), width: 640, height: 360 });
  await encodes(ada, []);

  const bob = await LiveKitPeer.join(fixture, 'bob');
  await bob.sees(ada, red);
  await encodes(ada, both);
  await choose(bob, { quality: 'LOW' });
  await encodes(ada, ['q']);
  await showsLayer(bob, true);
  await bob.sees(ada, red);
  await choose(bob, { quality: 'HIGH' });
  await encodes(ada, both);
  await showsLayer(bob, false);

  await choose(bob, { enabled: false });
  await encodes(ada, []);
  const { id } = (await node.api.post(`/room/${roomId}/component`, { type: 'recording' })).body.data;
  await encodes(ada, both);
  await node.api.delete(`/room/${roomId}/component/${id}`);
  await encodes(ada, []);

  const own = await enter(fixture, 'own');
  await own.sees(ada, red);
  await node.api.delete(`/room/${roomId}/peer/own`);
  await encodes(ada, []);
  await choose(bob, { enabled: true });
  await bob.sees(ada, red);
  await encodes(ada, both);
});
