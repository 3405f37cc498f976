// Network failures during a call, with browsers in a network namespace whose link is cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { byId, enter, launch, openConsole, seesMovingVideo, tileOf } from './console-kit.ts';

const options = { timeout: 180_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };

test('two console users and a plain page recover from cut websockets and a cut network', options, async (t) => {
  const machine = await makeNamespace(t);
  const port = await freePort(machine.here);
  const proxy = await startTcpProxy(t, port, machine.here);
  const host = `${machine.hereName}:${proxy.port}`;
  const node = await startNode(t, {
    SVC_IP: machine.here,
    SVC_PORT: String(port),
    SVC_HOST: host,
    SVC_WEBRTC_TURN_LISTEN_IP: machine.here,
  });
  const { api } = node;
  await api.post('/room', { roomId: 'meeting' });
  const plainUrl = (await servePlainPage(t, machine.here)).replace(machine.here, machine.hereName);
  const browser = await launch(t, [machine.nameFlag], machine.wrap);

  const ada = await openConsole(browser, `http://${host}/#/room/meeting`);
  const bob = await openConsole(browser, `http://${host}/#/room/meeting`);
  for (const [{ page }, name] of [
    [ada, 'Ada'],
    [bob, 'Bob'],
  ] as const) {
    await page.fill(byId('login-token'), apiToken);
    await page.click(byId('login-submit'));
    await enter(page, name);
  }
  const { body } = await api.post('/room/meeting/peer', { type: 'webrtc', peerId: 'carol', metadata: { name: 'Carol' } });
  const carol = await (await browser.newContext()).newPage();
  await carol.goto(plainUrl);
  await carol.evaluate(
    async ({ url, token }) => {
      kit.rooms.main = new kit.TestRoom({ url, token, fallbackUrls: [] });
      await kit.rooms.main.room.join();
      await kit.rooms.main.room.publish(kit.pattern('rgb(20 160 20)'));
    },
    { url: `ws://${body.data.peer_websocket_url}`, token: body.data.token },
  );
  const allSeeEachOther = () =>
    Promise.all([
      seesMovingVideo(ada.page, 'Bob'),
      seesMovingVideo(bob.page, 'Ada'),
      ...[ada, bob].map(({ page }) => seesMovingVideo(page, 'Carol')),
      videosMove(carol, 2),
    ]);
  await allSeeEachOther();

  await t.test('only the websockets are cut for five seconds: media continues', async (s) => {
    await countGaps(ada.page, 'Bob');
    proxy.cut();
    await ada.page.waitForSelector(`${byId('status')}:not([data-state="joined"])`);
    await wait(5_000);
    proxy.restore();
    for (const { page } of [ada, bob]) await page.waitForSelector(`${byId('status')}[data-state="joined"]`);
    const longest = await maxGap(ada.page);
    s.diagnostic(`the longest time between two frames was ${Math.round(longest)} ms`);
    assert.ok(longest > 0);
    // If media stopped with the websockets, the gap would be at least the five seconds of the cut.
    assertPrompt('the next frame', longest, { promised: 1_000 });
    await allSeeEachOther();
  });

  await t.test('the network is cut for 20 seconds: all recover with media, without a reload', async () => {
    for (const { page } of [ada, bob]) await page.evaluate("globalThis.sameDocument = 'yes'");
    await machine.setLink(false);
    await ada.page.waitForSelector(`${byId('status')}:not([data-state="joined"])`, { timeout: 60_000 });
    await wait(20_000);
    await machine.setLink(true);
    for (const { page } of [ada, bob]) await page.waitForSelector(`${byId('status')}[data-state="joined"]`, { timeout: 60_000 });
    await Promise.all([ada, bob].map(({ page }) => page.waitForSelector(`${tileOf('Carol')} video`)));
    await allSeeEachOther();
    for (const { page } of [ada, bob]) assert.equal(await page.evaluate('globalThis.sameDocument'), 'yes');
  });
});

/** Resolves when this number of remote videos move in the plain page. */
async function videosMove(page: Page, count: number): Promise<void> {
  await eventuallyIn(
    page,
    async (wanted) => {
      const peers = [...(kit.rooms.main?.room.peers.keys() ?? [])];
      const probes = await Promise.all(peers.map((peerId) => kit.rooms.main?.frameOf(peerId)));
      return probes.filter((probe) => probe && probe.change > 0.5).length === wanted;
    },
    count,
  );
}

/** Starts measuring the longest time between two frames of a tile. */
async function countGaps(page: Page, name: string): Promise<void> {
  await page.evaluate(`(() => {
    const video = document.querySelector(${JSON.stringify(`${tileOf(name)} video`)});
    let last;
    globalThis.maxGapMs = 0;
    const count = (now) => {
      if (last !== undefined) globalThis.maxGapMs = Math.max(globalThis.maxGapMs, now - last);
      last = now;
      video.requestVideoFrameCallback(count);
    };
    video.requestVideoFrameCallback(count);
  })()`);
  await eventuallyIn(page, 'globalThis.maxGapMs > 0');
}

async function maxGap(page: Page): Promise<number> {
  return page.evaluate('globalThis.maxGapMs');
}
