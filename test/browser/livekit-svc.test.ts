// Layers of one stream (SVC) of LiveKit's unmodified client in Chromium: each receiver chooses one.
import { test } from 'node:test';
import { css, red } from './client-kit.ts';
import { LiveKitPeer, startLiveKitFixture } from './livekit-kit.ts';

const ada = { id: 'ada' };

/** Resolves when the video of `ada` arrives in this quality: browsers encode two or three layers of 640 x 360. */
async function choose(peer: LiveKitPeer, quality: 'LOW' | 'HIGH'): Promise<void> {
  await peer.prefer(ada, quality);
  await (quality === 'HIGH' ? peer.seesWidth(ada, 640) : peer.seesWidth(ada, 1, 320));
  await peer.sees(ada, red);
}

for (const videoCodec of ['vp9', 'av1'] as const) {
  for (const scalabilityMode of ['L3T3_KEY', 'L3T3'] as const) {
    test(`each receiver of ${videoCodec} in ${scalabilityMode} gets the layer that it chooses`, async (t) => {
      const fixture = await startLiveKitFixture(t);
      const publisher = await LiveKitPeer.join(fixture, ada.id);
      await publisher.publish({ colour: css(red), width: 640, height: 360, videoCodec, scalabilityMode });
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
