// Recovery of the pages of the console from a restart, a network cut, a drain and a revoked token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText } from './console-kit.ts';
import { fileOf, reportOf } from './console-recording-kit.ts';
import { openPart, tokenFile } from './console-views.ts';

const parts = ['#/', '#/cluster', '#/health'] as const;
const lost = 'Disconnected. Reconnecting…';
/** Failed requests are retried after at most half a minute. */
const timeoutOptions = { timeout: 60_000 };

const isLive = (page: Page) => page.waitForSelector(`${byId('status')}[data-state="live"]`, timeoutOptions);

test('every page reports a killed server and a cut network and recovers', async (t) => {
  const first = await startNodeProcess(t, await stablePort());
  const proxy = await startTcpProxy(t, first.port);
  const browser = await launch(t);
  const url = `http://127.0.0.1:${proxy.port}`;
  const pages = await Promise.all(parts.map((hash) => openPart(browser, { url, token: apiToken, hash })));
  for (const { page } of pages) await isLive(page);
  await first.api.post('/room', { roomId: 'before' });
  await seeText(pages[0]?.page as Page, 'room-row', 'before');
  proxy.cut();
  for (const { page } of pages) await seeText(page, 'status', lost);
  assert.equal(await pages[0]?.page.locator('[data-room="before"]').count(), 1, 'known rooms stay visible');
  proxy.restore();
  for (const { page } of pages) await isLive(page);
  first.kill('SIGKILL');
  await first.ended;
  for (const { page } of pages) await seeText(page, 'status', lost);
  const again = await startNodeProcess(t, { SVC_PORT: String(first.port) });
  for (const { page } of pages) await isLive(page);
  await seeText(pages[0]?.page as Page, 'no-rooms', 'No rooms yet');
  await again.api.post('/room', { roomId: 'after' });
  await seeText(pages[0]?.page as Page, 'room-row', 'after');
  await seeText(pages[1]?.page as Page, 'facts', '1 node · 1 room');
  assert.deepEqual(
    pages.flatMap(({ complaints }) => complaints),
    [],
  );
});

test('a revoked token leads from every page to the log-in page with a message, and back when a token is valid again', async (t) => {
  const [good, other] = [`${apiToken}-one`, `${apiToken}-two`];
  const tokens = await tokenFile(t, good);
  const report = reportOf('kept', 1);
  const resources = await makeResources(t, fileOf(report));
  const env = { SVC_SERVER_API_TOKEN: undefined, SVC_CONFIG_FILES: tokens.path, SVC_RESOURCES_BASE_PATH: resources };
  const node = await startNode(t, env);
  const browser = await launch(t);
  /** Pages with what they show; the first two return with the old token, the others after a log-in with the new one. */
  const views = [
    ['#/', 'create-room'],
    ['#/cluster', 'node-row'],
    ['#/health', 'config-row'],
    ['#/webhooks', 'no-receivers'],
    [`#/recordings/${report.id}`, 'no-tracks'],
  ] as const;
  const opened = await Promise.all(
    views.map(async ([hash, shown]) => ({ shown, page: (await openPart(browser, { url: node.url, token: good, hash })).page })),
  );
  for (const { page, shown } of opened) await page.waitForSelector(byId(shown), timeoutOptions);
  await tokens.replace(other);
  for (const { page } of opened) {
    await page.waitForSelector(byId('login-token'), timeoutOptions);
    await seeText(page, 'login-problem', 'The server no longer accepts this API token.');
    assert.equal((await page.content()).includes(good), false);
  }
  for (const { page, shown } of opened.slice(2)) {
    await page.fill(byId('login-token'), other);
    await page.click(byId('login-submit'));
    await page.waitForSelector(byId(shown));
  }
  await tokens.replace(good);
  for (const { page, shown } of opened.slice(0, 2)) await page.waitForSelector(byId(shown), timeoutOptions);
});

test('Cluster and Health report a drain, and Health an invalid configuration file, until both are resolved', async (t) => {
  const tokens = await tokenFile(t, apiToken);
  const node = await startNode(t, { SVC_CONFIG_FILES: tokens.path });
  const { api } = node;
  const browser = await launch(t);
  const open = (hash: string) => openPart(browser, { url: node.url, token: apiToken, hash });
  const [{ page: cluster }, { page: health }] = await Promise.all([open('#/cluster'), open('#/health')]);
  const { name } = (await api.get('/cluster/nodes')).body.data[0];
  await seeText(health, 'finding', 'apiTokens in the configuration files has no effect');
  await api.post(`/cluster/nodes/${name}/drain`, { deadline: 3600 });
  await cluster.waitForSelector('[data-state="draining"]');
  await seeText(cluster, 'no-node-takes', 'No node accepts new rooms');
  await seeText(cluster, 'drain-progress', 'No rooms left: safe to remove.');
  await seeText(health, 'finding', 'This node is draining');
  await tokens.replace('');
  await seeText(health, 'finding', 'Invalid configuration files');
  await tokens.replace(`${apiToken}-two`);
  await api.delete(`/cluster/nodes/${name}/drain`);
  await cluster.waitForSelector('[data-state="accepting"][data-node]');
  await cluster.waitForSelector(byId('no-node-takes'), { state: 'detached' });
  await health.waitForSelector(`${byId('finding')}[data-tone="danger"]`, { state: 'detached' });
  await health.getByText('This node is draining').waitFor({ state: 'detached' });
});
