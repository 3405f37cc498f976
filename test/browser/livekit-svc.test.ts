// Layers of one stream (SVC) of LiveKit's unmodified client in Chromium: each receiver chooses one.
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { css, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

/** Chooses a quality of the video of `ada`. Resolves when frames of its size have its colour: browsers encode two or three layers of 640 x 360. */
async function choose(peer: LiveKitPeer, quality: 'LOW' | 'HIGH'): Promise<void> {
  await eventuallyIn(
    peer.page,
    async (wanted) => {
      const [publication] = livekit.rooms.main?.room.remoteParticipants.get('ada')?.videoTrackPublications.values() ?? [];
      publication?.setVideoQuality(livekit.VideoQuality[wanted]);
      const { width = 0 } = (await livekit.rooms.main?.frameOf('ada')) ?? {};
      return wanted === 'HIGH' ? width === 640 : width > 0 && width <= 320;
    },
    quality,
  );
  await peer.sees({ id: 'ada' }, red);
}

for (const videoCodec of ['vp9', 'av1'] as const) {
  for (const scalabilityMode of ['L3T3_KEY', 'L3T3'] as const) {
    test(`each receiver of ${videoCodec} in ${scalabilityMode} gets the layer that it chooses`, async (t) => {
      const fixture = await startLiveKitFixture(t);
      const ada = await LiveKitPeer.join(fixture, 'ada');
      await ada.publish({ colour: css(red), width: 640, height: 360, videoCodec, scalabilityMode });
      const [bob, carol] = await Promise.all([LiveKitPeer.join(fixture, 'bob'), LiveKitPeer.join(fixture, 'carol')]);
      for (const [first, second] of [
        ['LOW', 'HIGH'],
        ['HIGH', 'LOW'],
        ['LOW', 'HIGH'],
      ] as const)
        await Promise.all([choose(bob, first), choose(carol, second)]);
    });
  }
}
