// The connection test of the guest page and the outage messages in a room, over increasingly restricted networks.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Environment } from '../../node/env.ts';
import { freePort, freePorts } from '../kit/network/free-ports.ts';
import { makeNamespace, mayMakeNamespaces, type NetworkNamespace } from '../kit/network/network-namespace.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { runCommand } from '../kit/processes/command.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { byId, launch, openConsole, seesMovingVideo, seeText, tileOf } from './console-kit.ts';
import { checkPage } from './console-views.ts';
import { hostOn, hostRoom, joinAs, openGuest, waitUntil } from './guest-kit.ts';

const options = { timeout: 240_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };

type Marks = { server: string; udp: string; tcp: string; relay: string; verdict: string };

/** Runs the connection test. @returns the mark of each row */
async function check(page: Page): Promise<Marks> {
  // Observed before the click, because the test may finish before the next query.
  await page.evaluate(`(() => {
    const panel = document.querySelector('${byId('check')}');
    window.checked = new Promise((resolve) => {
      new MutationObserver(() => panel.dataset.phase === 'done' && resolve()).observe(panel, { attributeFilter: ['data-phase'] });
    });
  })()`);
  await page.click(byId('check-start'));
  await page.evaluate('window.checked');
  const mark = async (name: string) => (await page.getAttribute(byId(`check-${name}`), 'data-mark')) ?? '';
  const names = ['server', 'udp', 'tcp', 'relay', 'verdict'] as const;
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await mark(name)]))) as Marks;
}

test('the connection test finds every open path, is invisible in the room, and allows joining', { timeout: 180_000 }, async (t) => {
  const turn = await freePort();
  const hosted = await hostRoom(t, { SVC_WEBRTC_TURN_ENABLED: 'true', SVC_WEBRTC_TURN_PORT: String(turn) });
  const browser = await launch(t);
  const ada = await openGuest(browser, hosted);
  await joinAs(ada.page, 'Ada');
  const bob = await openGuest(browser, hosted);
  await ada.page.evaluate(`(() => {
    window.most = 0;
    const count = () => { window.most = Math.max(window.most, document.querySelectorAll('${byId('tile')}').length); };
    new MutationObserver(count).observe(document.body, { childList: true, subtree: true });
    count();
  })()`);
  assert.deepEqual(await check(bob.page), { server: 'good', udp: 'good', tcp: 'good', relay: 'good', verdict: 'good' });
  await seeText(bob.page, 'check-verdict', 'Your network is ready for audio and video.');
  await seeText(bob.page, 'check-udp', /Direct media connection \(UDP\) works(, round trip \d+ ms)?\./);
  const peer = async () => (await hosted.api.get(`/room/${hosted.roomId}/peer/${bob.peerId}`)).body.data.peer;
  assert.equal((await peer()).status, 'disconnected');
  await waitUntil(async () => hosted.node.node.parts.peerSockets.checks === 0, 'the connection test is cleaned up');
  assert.equal(await ada.page.evaluate('window.most'), 1);
  await joinAs(bob.page, 'Bob');
  await seesMovingVideo(ada.page, 'Bob');
  assert.deepEqual([ada.complaints, bob.complaints], [[], []]);
});

test('the connection test reports an invalid link and an unreachable server', { timeout: 180_000 }, async (t) => {
  const hosted = await hostRoom(t);
  const browser = await launch(t);
  const { link } = await hosted.invite();
  const { page } = await openConsole(browser, link.replace(/token=[^&]+/, 'token=a.b.c'));
  await page.click(byId('check-start'));
  await seeText(page, 'check-verdict', 'This link is invalid or expired.');
  const guest = await openGuest(browser, hosted);
  await hosted.node.close();
  await guest.page.click(byId('check-start'));
  await guest.page.waitForSelector(`${byId('check-verdict')}[data-mark="bad"]`, { timeout: 60_000 });
  await seeText(guest.page, 'check-verdict', 'Cannot reach the server.');
});

/** A node that browsers in a network namespace reach through a network that can be restricted. */
async function farNode(t: TestContext, env: Environment = {}) {
  const machine = await makeNamespace(t);
  const [port = 0, turn] = await freePorts(2, machine.here);
  const proxy = await startTcpProxy(t, port, machine.here);
  const host = `${machine.hereName}:${proxy.port}`;
  const node = await startNode(t, {
    SVC_IP: machine.here,
    SVC_PORT: String(port),
    SVC_HOST: host,
    SVC_WEBRTC_TURN_ENABLED: 'true',
    SVC_WEBRTC_TURN_PORT: String(turn),
    SVC_WEBRTC_TURN_LISTEN_IP: machine.here,
    ...env,
  });
  const hosted = await hostOn(node, node.api);
  const base = `http://${host}`;
  const browser = await launch(t, [machine.nameFlag], machine.wrap);
  return { machine, node, proxy, hosted, base, browser, turn };
}

/** Restricts outgoing traffic of the namespace to these iptables rules; no rules allow everything. */
async function onlyLet(machine: NetworkNamespace, rules: readonly (readonly string[])[]): Promise<void> {
  const tables = (...args: string[]) => runCommand(['ip', 'netns', 'exec', machine.name, 'iptables', ...args]);
  await tables('-P', 'OUTPUT', 'ACCEPT');
  await tables('-F', 'OUTPUT');
  if (rules.length === 0) return;
  // Local traffic of the browser is always allowed.
  await tables('-A', 'OUTPUT', '-o', 'lo', '-j', 'ACCEPT');
  for (const rule of rules) await tables('-A', 'OUTPUT', ...rule, '-j', 'ACCEPT');
  await tables('-P', 'OUTPUT', 'DROP');
}

test('restricted networks are reported by the connection test and in the room', options, async (t) => {
  const { machine, proxy, hosted, base, browser, turn } = await farNode(t);
  const web = ['-p', 'tcp', '--dport', String(proxy.port)];
  const guest = await openGuest(browser, hosted, { base });
  const { page } = guest;

  await t.test('all paths are open', async () => {
    assert.deepEqual(await check(page), { server: 'good', udp: 'good', tcp: 'good', relay: 'good', verdict: 'good' });
  });
  await t.test('UDP is blocked: media uses TCP', async () => {
    await onlyLet(machine, [['-p', 'tcp']]);
    const marks = await check(page);
    assert.deepEqual({ ...marks, relay: '' }, { server: 'good', udp: 'warning', tcp: 'good', relay: '', verdict: 'warning' });
    // The relay supports TCP as well.
    assert.equal(marks.relay, 'good');
    await seeText(page, 'check-relay', 'over TCP');
    await seeText(page, 'check-udp', 'UDP is blocked by a firewall.');
    await seeText(page, 'check-verdict', 'Audio and video work over TCP');
  });
  await t.test('only the relay is open', async () => {
    await onlyLet(machine, [web, ['-p', 'udp', '--dport', String(turn)]]);
    assert.deepEqual(await check(page), { server: 'good', udp: 'warning', tcp: 'warning', relay: 'good', verdict: 'warning' });
    await seeText(page, 'check-verdict', 'Audio and video work through a relay');
  });
  await t.test('only HTTP is open: a guest can join and chat, and is warned that media will not work', async () => {
    await onlyLet(machine, [web]);
    assert.deepEqual(await check(page), { server: 'good', udp: 'bad', tcp: 'bad', relay: 'bad', verdict: 'bad' });
    await seeText(page, 'check-verdict', 'audio and video will not work');
    await joinAs(page, 'Ada');
    await page.waitForSelector(`${byId('link-notice')}[data-lost="media"]`);
    await seeText(page, 'link-notice', 'No media connection for');
    await seeText(page, 'link-others', 'Chat still works.');
    await page.click(byId('toggle-chat'));
    await page.fill(byId('chat-input'), 'can you see me?');
    await page.press(byId('chat-input'), 'Enter');
    await page.waitForSelector(`${byId('chat-message')}[data-state="sent"]`);
    await page.click(byId('chat-close'));
  });
  await t.test('the network is open again: media recovers automatically', async () => {
    await onlyLet(machine, []);
    await page.waitForSelector(byId('link-notice'), { state: 'detached', timeout: 60_000 });
    const bob = await openGuest(browser, hosted, { base });
    await joinAs(bob.page, 'Bob');
    await seesMovingVideo(bob.page, 'Ada');
    await bob.page.click(byId('leave'));
    await page.waitForSelector(tileOf('Bob'), { state: 'detached' });
  });
  assert.deepEqual(guest.complaints, []);
});

test('an outage of the server or of media is shown with its duration and its effect on other participants', options, async (t) => {
  // On a busy machine, the checks during the cut take longer than the default resume window.
  const { machine, proxy, hosted, base, browser } = await farNode(t, { SVC_PEER_RESUME_WINDOW: '60' });
  const [ada, bob] = [await openGuest(browser, hosted, { base }), await openGuest(browser, hosted, { base })];
  await joinAs(ada.page, 'Ada');
  await joinAs(bob.page, 'Bob');
  const bothSee = () => Promise.all([seesMovingVideo(ada.page, 'Bob'), seesMovingVideo(bob.page, 'Ada')]);
  await bothSee();
  assert.equal(await ada.page.locator(byId('link-notice')).count(), 0);

  await t.test('only the websocket is cut: others still see and hear', async () => {
    proxy.cut();
    await seeText(ada.page, 'status', 'Disconnected. Reconnecting…');
    await seeText(ada.page, 'link-notice', /Disconnected from the server for \d+ seconds?, since/);
    await seeText(ada.page, 'link-notice', /\d+ attempts? so far/);
    await seeText(ada.page, 'link-others', 'others can probably see and hear you');
    await bothSee();
    // A message that is written now is delivered after the reconnect.
    await ada.page.click(byId('toggle-chat'));
    await ada.page.fill(byId('chat-input'), 'written while lost');
    await ada.page.press(byId('chat-input'), 'Enter');
    await ada.page.waitForSelector(`${byId('chat-message')}[data-state="sending"]`);
    proxy.restore();
    await ada.page.waitForSelector(`${byId('chat-message')}[data-state="sent"]`, { timeout: 60_000 });
    await seeText(bob.page, 'unread', '1');
    for (const { page } of [ada, bob]) await page.waitForSelector(byId('link-notice'), { state: 'detached' });
  });
  await t.test('only media is blocked: the server is reachable', async () => {
    await onlyLet(machine, [['-p', 'tcp', '--dport', String(proxy.port)]]);
    await ada.page.waitForSelector(`${byId('link-notice')}[data-lost="media"]`, { timeout: 60_000 });
    await seeText(ada.page, 'link-others', 'Others cannot see or hear you.');
    await checkPage(ada.page, 'guest-lost');
    assert.equal(await ada.page.getAttribute(byId('status'), 'data-state'), 'joined');
    await onlyLet(machine, []);
    await ada.page.waitForSelector(byId('link-notice'), { state: 'detached', timeout: 60_000 });
    await bothSee();
  });
  await t.test('the network cable is unplugged and plugged in again', async () => {
    for (const { page } of [ada, bob]) await page.evaluate("globalThis.sameDocument = 'yes'");
    await machine.setLink(false);
    await seeText(ada.page, 'status', 'Disconnected. Reconnecting…');
    await ada.page
      .locator(byId('link-others'))
      .filter({ hasText: /Your video is frozen|Others see you as disconnected/ })
      .waitFor({ timeout: 60_000 });
    await machine.setLink(true);
    for (const { page } of [ada, bob]) await page.waitForSelector(`${byId('status')}[data-state="joined"]`, { timeout: 60_000 });
    for (const { page } of [ada, bob]) await page.waitForSelector(byId('link-notice'), { state: 'detached', timeout: 60_000 });
    await bothSee();
    for (const { page } of [ada, bob]) assert.equal(await page.evaluate('globalThis.sameDocument'), 'yes');
  });
  assert.deepEqual([ada.complaints, bob.complaints], [[], []]);
});
