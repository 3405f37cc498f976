// Layers of the client library in Chromium: it sends only those that a receiver of the room needs.
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { css, enter, type PagePeer, red, startClientFixture } from './client-kit.ts';

/** Resolves when the bytes of exactly these layers of its video grow, counted by the browser. */
async function sends({ page }: PagePeer, layers: readonly number[]): Promise<void> {
  await eventuallyIn(
    page,
    async (wanted) => {
      const video = kit.rooms.main?.room.localTracks.find(({ kind }) => kind === 'video');
      const sent = async () => {
        const stats = [...((await video?.getStats())?.values() ?? [])] as RTCOutboundRtpStreamStats[];
        const streams = stats
          .filter(({ type }) => type === 'outbound-rtp')
          .sort((one, other) => String(one.rid).localeCompare(String(other.rid)));
        return streams.map(({ bytesSent = 0 }) => bytesSent);
      };
      const before = await sent();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const growing = (await sent()).flatMap((bytes, index) => (bytes > (before[index] ?? 0) ? [index] : []));
      return before.length === 2 && growing.join() === wanted;
    },
    layers.join(),
  );
}

/** Changes the displayed size of the video of `ada`. */
async function show({ page }: PagePeer, width: number): Promise<void> {
  await page.evaluate((pixels) => {
    const video = kit.rooms.main?.elements.get(kit.rooms.main.trackOf('ada', 'video') ?? '');
    if (video) video.style.cssText = `width:${pixels}px;height:${(pixels * 9) / 16}px`;
  }, width);
}

test('a publisher sends the layers that receivers need, and none without a receiver', async (t) => {
  const fixture = await startClientFixture(t);
  const ada = await enter(fixture, 'ada');
  await ada.publish({ colour: css(red), width: 640, height: 360 });
  await sends(ada, []);

  const bob = await enter(fixture, 'bob');
  await bob.sees(ada, red);
  await sends(ada, [0, 1]);
  await show(bob, 160);
  await sends(ada, [0]);
  await bob.sees(ada, red);
  await show(bob, 640);
  await sends(ada, [0, 1]);
  await bob.seesWidth(ada, 640);

  await fixture.node.api.delete(`/room/${fixture.roomId}/peer/bob`);
  await sends(ada, []);
  const carol = await enter(fixture, 'carol');
  await carol.sees(ada, red);
});
