// The example of a React page while its network is cut: it says so, what is chosen meanwhile counts afterwards, and nobody reloads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { apiClient } from '../kit/api-client.ts';
import { startBrowser } from '../kit/browser.ts';
import { startExample } from '../kit/example.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network-namespace.ts';
import { apiToken, startNode } from '../kit/start-node.ts';
import { cameraPaused, playing, shows } from './react-kit.ts';

const options = { timeout: 180_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };

test('a cable that is pulled out is told, and put in again people see each other, with the camera as it was left', options, async (t) => {
  const machine = await makeNamespace(t);
  const node = await startNode(t, { SVC_IP: machine.here, SVC_WEBRTC_TURN_LISTEN_IP: machine.here });
  const env = { SVC_URL: `http://${machine.here}:${node.port}`, SVC_SERVER_API_TOKEN: apiToken, PORT: '0' };
  const example = await startExample(t, 'react-page', ['--host', machine.here], env);
  const [url = ''] = await example.says(/http:\/\/10\.[\d.]+:\d+\//);
  const secure = `--unsafely-treat-insecure-origin-as-secure=${new URL(url).origin}`;
  const browser = await startBrowser(t, { args: [secure], wrap: machine.wrap });
  const enter = async (name: string): Promise<Page> => {
    const page = await browser.newPage(`${url}?name=${name}`);
    await shows(page, '[role=status]', 'joined');
    return page;
  };
  const ada = await enter('Ada');
  const bob = await enter('Bob');
  const api = apiClient(env.SVC_URL, apiToken);
  await Promise.all([playing(ada, 1), playing(bob, 1)]);
  for (const page of [ada, bob]) await page.evaluate("globalThis.sameDocument = 'yes'");

  await machine.setLink(false);
  for (const page of [ada, bob]) await shows(page, '[role=status]', 'reconnecting');
  await bob.getByRole('button', { name: 'Camera off' }).click();
  await bob.getByRole('button', { name: 'Camera on' }).waitFor();
  await machine.setLink(true);
  for (const page of [ada, bob]) await shows(page, '[role=status]', 'joined');
  await cameraPaused(api, 'Bob', true);
  await playing(bob, 1);
  await bob.getByRole('button', { name: 'Camera on' }).click();
  await cameraPaused(api, 'Bob', false);
  await Promise.all([playing(ada, 1), playing(bob, 1)]);
  for (const page of [ada, bob]) assert.equal(await page.evaluate('globalThis.sameDocument'), 'yes');
});
