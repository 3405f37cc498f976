// Several spatial layers in one stream of VP9 and AV1, in Chromium: receivers at two media workers and a WHEP player decode them.
import { test } from 'node:test';
import { splitRooms } from '../kit/processes/start-node.ts';
import { css, enter, red, startClientFixture } from './client-kit.ts';
import { newPlayer, play, shows } from './whep-kit.ts';

for (const codec of ['vp9', 'av1']) {
  test(`receivers decode the layers of ${codec} that fit their elements`, async (t) => {
    const fixture = await startClientFixture(t, { ...splitRooms, SVC_CORS_ORIGINS: '*' });
    const ada = await enter(fixture, 'ada');
    await ada.publish({ tone: 440 });
    await ada.page.evaluate(
      async ([colour, name]) => {
        await kit.rooms.main?.room.publish(kit.pattern(colour, 640, 360), { codec: name });
      },
      [css(red), codec] as const,
    );
    for (const id of ['bob', 'carl']) {
      const peer = await enter(fixture, id);
      await peer.seesWidth(ada, 640);
      await peer.page.evaluate(() => {
        for (const video of document.querySelectorAll('video')) video.style.cssText = 'width:160px;height:90px';
      });
      await peer.seesWidth(ada, 1, 320);
      await peer.sees(ada, red);
    }
    const { page } = await newPlayer(fixture, play);
    await shows(page, red, 440);
  });
}
