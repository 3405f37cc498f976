// LiveKit's React components, unmodified, in Chromium: their video conference next to a peer of the client library.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { signAccessToken } from '../kit/access-tokens.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Colour } from '../kit/browser/client-page.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { eventually } from '../kit/eventually.ts';
import { blue, type ClientFixture, css, enter, red } from './client-kit.ts';
import { startLiveKitFixture } from './livekit-kit.ts';

async function openConference(t: TestContext, { node, browser, roomId }: ClientFixture, identity: string, colour: Colour): Promise<Page> {
  const page = await browser.newPage(await servePlainPage(t, '127.0.0.1', undefined, 'livekit-components-page.ts'));
  const token = await signAccessToken({ identity, room: roomId });
  const url = node.url.replace(/^http/, 'ws');
  await page.evaluate((given) => conference.show(...given), [url, token, css(colour), 440] as const);
  return page;
}

test("the video conference of LiveKit's React components shows, hears, mutes and chats", async (t) => {
  const fixture = await startLiveKitFixture(t);
  const own = await enter(fixture, 'own');
  await own.publish({ colour: css(blue), tone: 660 });
  const page = await openConference(t, fixture, 'ada', red);
  await own.sees({ id: 'ada' }, red);
  await own.hears({ id: 'ada' }, 440);
  await eventuallyIn(
    page,
    async (wanted) => {
      const seen = await conference.otherFrame();
      return seen && seen.change > 0.5 && seen.colour.every((value, index) => Math.abs(value - (wanted[index] ?? 0)) < 40);
    },
    blue,
  );
  await eventuallyIn(page, async () => Math.abs(((await conference.otherTone()) ?? 0) - 660) < 15);

  const { node, roomId } = fixture;
  const microphone = async () => {
    const { tracks } = (await node.api.get(`/room/${roomId}/peer/ada`)).body.data.peer;
    return (tracks as { type: string; paused: boolean }[]).find(({ type }) => type === 'audio')?.paused;
  };
  assert.equal(await microphone(), false);
  await page.click('button[data-lk-source="microphone"]');
  await eventually('the microphone is muted', async () => (await microphone()) === true);
  await own.hears({ id: 'ada' }, 0);

  const other = await openConference(t, fixture, 'bob', red);
  await other.waitForSelector('.lk-participant-name >> text=ada');
  await page.click('.lk-chat-toggle');
  await page.fill('.lk-chat-form-input', 'hello from a form');
  await page.click('.lk-chat-form-button');
  await other.waitForSelector('.lk-message-body >> text=hello from a form', { state: 'attached' });

  await page.click('.lk-disconnect-button');
  await eventuallyIn(own.page, () => kit.rooms.main?.room.peers.has('ada') === false);
});
