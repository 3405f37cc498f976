// The React page example: hooks in strict mode, in real rooms, also during a network cut. One file, because two concurrent runs would write
// the same cache folder of the build tool.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { apiClient } from '../kit/answers/api-client.ts';
import { startBrowser } from '../kit/browser/browser.ts';
import { makeNamespace, mayMakeNamespaces } from '../kit/network/network-namespace.ts';
import { startExample } from '../kit/processes/example.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { cameraOf, cameraPaused, playing, shows } from './react-kit.ts';

test('participants see each other, chat and toggle the camera, and the page reports an unpublish by the server and the end', async (t) => {
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

  const { api } = node;
  await bob.getByRole('button', { name: 'Camera off' }).click();
  await cameraPaused(api, 'Bob', true);
  await bob.getByRole('button', { name: 'Camera on' }).click();
  await cameraPaused(api, 'Bob', false);
  await playing(ada, 1);

  const camera = await cameraOf(api, 'Ada');
  assert.equal((await api.delete(`/room/demo/track/${camera?.id}`)).status, 204);
  await shows(ada, '[role=status]', 'The camera was removed by the server');
  await ada.getByRole('button', { name: 'Camera on' }).click();
  await shows(ada, '[role=status]', 'joined');
  await playing(bob, 1);
  assert.notEqual((await cameraOf(api, 'Ada'))?.id, camera?.id);

  await api.delete('/room/demo');
  await shows(bob, '[role=status]', 'The room was stopped');
  assert.equal(await bob.locator('section').count(), 0, 'no participant is shown after the end');
});

const options = { timeout: 180_000, skip: mayMakeNamespaces ? false : 'network namespaces need root' };

test('after an unplugged network cable participants see each other again, with the camera in its last state', options, async (t) => {
  const machine = await makeNamespace(t);
  const node = await startNode(t, { SVC_IP: machine.here, SVC_WEBRTC_TURN_LISTEN_IP: machine.here });
  const env = { SVC_URL: `http://${machine.here}:${node.port}`, SVC_SERVER_API_TOKEN: apiToken, PORT: '0' };
  const example = await startExample(t, 'react-page', ['--host', machine.here], env);
  const [url = ''] = await example.says(/http:\/\/10\.[\d.]+:\d+\//);
  const browser = await startBrowser(t, { args: [machine.nameFlag], wrap: machine.wrap });
  const enter = async (name: string): Promise<Page> => {
    const page = await browser.newPage(`${url.replace(machine.here, machine.hereName)}?name=${name}`);
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
