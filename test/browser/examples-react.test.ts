// The example of a React page, started by its one command: hooks in strict mode, in real rooms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiClient } from '../kit/api-client.ts';
import { startBrowser } from '../kit/browser.ts';
import { startExample } from '../kit/example.ts';
import { startNode } from '../kit/start-node.ts';
import { cameraOf, cameraPaused, playing, shows } from './react-kit.ts';

test('people see each other in the page, write, switch their camera, are told that it was taken away, and of the end', async (t) => {
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
  await bob.getByRole('button', { name: 'Camera off' }).click();
  await cameraPaused(api, 'Bob', true);
  await bob.getByRole('button', { name: 'Camera on' }).click();
  await cameraPaused(api, 'Bob', false);
  await playing(ada, 1);

  const camera = await cameraOf(api, 'Ada');
  assert.equal((await api.delete(`/room/demo/track/${camera?.id}`)).status, 204);
  await shows(ada, '[role=status]', 'The camera was taken away by the server');
  await ada.getByRole('button', { name: 'Camera on' }).click();
  await shows(ada, '[role=status]', 'joined');
  await playing(bob, 1);
  assert.notEqual((await cameraOf(api, 'Ada'))?.id, camera?.id);

  await api.delete('/room/demo');
  await shows(bob, '[role=status]', 'The room was stopped');
  assert.equal(await bob.locator('section').count(), 0, 'nobody is shown any more');
});
