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

/** Shows the video of `ada`, or does not. */
async function enable({ page }: LiveKitPeer, enabled: boolean): Promise<void> {
  await page.evaluate((wanted) => {
    const [publication] = livekit.rooms.main?.room.remoteParticipants.get('ada')?.videoTrackPublications.values() ?? [];
    publication?.setEnabled(wanted);
  }, enabled);
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
  await bob.prefer(ada, 'LOW');
  await encodes(ada, ['q']);
  await bob.seesWidth(ada, 320);
  await bob.sees(ada, red);
  await bob.prefer(ada, 'HIGH');
  await encodes(ada, both);
  await bob.seesWidth(ada, 321, 1_280);

  await enable(bob, false);
  await encodes(ada, []);
  const { id } = (await node.api.post(`/room/${roomId}/component`, { type: 'recording' })).body.data;
  await encodes(ada, both);
  await node.api.delete(`/room/${roomId}/component/${id}`);
  await encodes(ada, []);

  const own = await enter(fixture, 'own');
  await own.sees(ada, red);
  await node.api.delete(`/room/${roomId}/peer/own`);
  await encodes(ada, []);
  await enable(bob, true);
  await bob.sees(ada, red);
  await encodes(ada, both);
});
