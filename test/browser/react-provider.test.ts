// RoomProvider with invalid props: the error boundary around it receives the error and retries with new props.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import type { ProviderPage } from '../kit/browser/provider-page.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { shows } from './react-kit.ts';

test('an invalid URL or option throws to the error boundary, the rest of the page stays, and a valid URL joins the room', async (t) => {
  const node = await startNode(t);
  const pageUrl = await servePlainPage(t, undefined, undefined, 'provider-page.ts');
  const browser = await startBrowser(t);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const { status, body } = await api.post('/room/r/peer', { type: 'webrtc', options: {} });
  assert.equal(status, 201);
  const { token, peer_websocket_url: url } = body.data;
  const page = await browser.newPage(pageUrl);
  const show = (props: Parameters<ProviderPage['showRoom']>[0]) =>
    page.evaluate((given) => (globalThis as unknown as ProviderPage).showRoom(given), props);
  const again = () => page.getByRole('button', { name: 'Again' }).click();

  await show({ url: 'ftp://rooms.example.com/', token });
  await shows(page, '[role=alert]', 'TypeError: Expected a WebSocket URL, got: ftp://rooms.example.com/');
  assert.equal(await page.locator('[role=status]').count(), 0);
  assert.equal(await page.locator('#sibling').textContent(), 'The rest of the page');
  // A retry with the same props fails again.
  await again();
  await shows(page, '[role=alert]', 'TypeError: Expected a WebSocket URL');
  assert.equal((await api.get('/room/r')).body.data.peers[0].status, 'disconnected');

  await show({ url, token, options: { fallbackUrls: ['ftp://rooms.example.com/'] } });
  await again();
  await shows(page, '[role=alert]', 'TypeError: Expected a WebSocket URL');

  await show({ url, token, options: { fallbackUrls: [] } });
  await again();
  await shows(page, '[role=status]', 'joined');
  assert.equal(await page.locator('[role=alert]').count(), 0);
  assert.equal((await api.get('/room/r')).body.data.peers[0].status, 'connected');
});
