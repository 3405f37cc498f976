// The example of a React page, started by its one command: hooks in strict mode, in real rooms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { apiClient } from '../kit/api-client.ts';
import { comesToHold, startBrowser } from '../kit/browser.ts';
import { startExample } from '../kit/example.ts';
import { startNode } from '../kit/start-node.ts';

/** How many videos of others play, i.e. move. */
const playing = (page: Page, count: number) =>
  comesToHold(
    page,
    async (wanted) => {
      const videos = [...document.querySelectorAll('section video')] as HTMLVideoElement[];
      const before = videos.map(({ currentTime }) => currentTime);
      await new Promise((resolve) => setTimeout(resolve, 300));
      return videos.filter((video, index) => video.videoWidth > 0 && video.currentTime > (before[index] ?? 0)).length === wanted;
    },
    count,
    60_000,
  );

const shows = (page: Page, selector: string, text: string) =>
  comesToHold(
    page,
    ([which, wanted]) => [...document.querySelectorAll(which)].some((each) => each.textContent?.includes(wanted)),
    [selector, text] as const,
    60_000,
  );

test('people see each other in the page, write, switch their camera and are told of the end', async (t) => {
  const node = await startNode(t);
  const env = { SVC_URL: node.url, SVC_SERVER_API_TOKEN: node.token, PORT: '0' };
  const example = await startExample(t, 'react-page', [], env);
  const [url] = await example.says(/http:\/\/127\.0\.0\.1:\d+\//);
  const browser = await startBrowser(t);
  const enter = async (name: string) => {
    const page = await browser.newPage(`${url}?name=${name}`);
    await shows(page, '[role=status]', 'joined');
    return page;
  };
  const ada = await enter('Ada');
  const bob = await enter('Bob');
  await shows(ada, 'section', 'Bob');
  await shows(bob, 'section', 'Ada');
  await Promise.all([playing(ada, 1), playing(bob, 1)]);

  await ada.getByLabel('Message').fill('Grüß Gott <b>');
  await ada.keyboard.press('Enter');
  await shows(bob, '[role=log]', 'Grüß Gott <b>');
  await shows(ada, '[role=log]', 'Grüß Gott <b>');

  const api = apiClient(node.url, node.token);
  const cameraPaused = async (name: string, paused: boolean) => {
    for (const end = Date.now() + 30_000; ; await ada.waitForTimeout(50)) {
      const { peers } = (await api.get('/room/demo')).body.data;
      const peer = peers.find(({ metadata }: { metadata: string }) => metadata === name);
      const [track] = peer.tracks.filter(({ type }: { type: string }) => type === 'video');
      if (track?.paused === paused && peer.tracks.length === 2) return;
      assert.ok(Date.now() < end, `The camera of ${name} is not ${paused ? 'off' : 'on'}: ${JSON.stringify(peer)}`);
    }
  };
  await bob.getByRole('button', { name: 'Camera off' }).click();
  await cameraPaused('Bob', true);
  await bob.getByRole('button', { name: 'Camera on' }).click();
  await cameraPaused('Bob', false);
  await playing(ada, 1);

  await api.delete('/room/demo');
  await shows(bob, '[role=status]', 'The room was stopped');
});
