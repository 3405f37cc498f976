// WHIP from a plain page of Chromium: simulcast, trickled candidates, an ICE restart and CORS, next to peers of the client library.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { css, enter, red, startClientFixture } from './client-kit.ts';

/** The whole encoder. @returns its session, and the time of its offer in milliseconds since 1970 */
function publish(page: Page, url: string, token: string): Promise<{ session: string; offeredAt: number }> {
  return page.evaluate(
    async ([endpoint, bearer, colour]) => {
      const authorization = `Bearer ${bearer}`;
      const connection = new RTCPeerConnection();
      connection.addTransceiver(kit.tone(440), { direction: 'sendonly' });
      const sendEncodings = [{ rid: 'q', scaleResolutionDownBy: 4 }, { rid: 'h', scaleResolutionDownBy: 2 }, { rid: 'f' }];
      connection.addTransceiver(kit.pattern(colour, 1280, 720), { direction: 'sendonly', sendEncodings });
      const candidates: string[] = [];
      const gathered = new Promise<void>((resolve) => {
        connection.onicecandidate = ({ candidate }) => (candidate?.candidate ? void candidates.push(candidate.candidate) : resolve());
      });
      await connection.setLocalDescription();
      const offer = connection.localDescription?.sdp ?? '';
      const headers = { authorization, 'content-type': 'application/sdp' };
      const offeredAt = performance.timeOrigin + performance.now();
      const response = await fetch(endpoint, { method: 'POST', headers, body: offer });
      if (response.status !== 201) throw new Error(await response.text());
      const answer = await response.text();
      await connection.setRemoteDescription({ type: 'answer', sdp: answer });
      await gathered;
      const session = new URL(response.headers.get('location') ?? '', endpoint).href;
      const patch = async (sdp: string, ifMatch: string) => {
        const lines = [/^a=ice-ufrag:.*/m, /^a=ice-pwd:.*/m].map((line) => line.exec(sdp)?.[0].trim());
        const body = [...lines, 'm=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:0', ...candidates.map((each) => `a=${each}`), ''].join('\r\n');
        const type = 'application/trickle-ice-sdpfrag';
        return fetch(session, { method: 'PATCH', headers: { authorization, 'content-type': type, 'if-match': ifMatch }, body });
      };
      const trickled = await patch(offer, response.headers.get('etag') ?? '');
      if (trickled.status !== 204) throw new Error(await trickled.text());
      const restart = async () => {
        connection.restartIce();
        await connection.setLocalDescription();
        const restarted = await patch(connection.localDescription?.sdp ?? '', '*');
        if (restarted.status !== 200) throw new Error(await restarted.text());
        const fragment = await restarted.text();
        const replaced = ['ice-ufrag', 'ice-pwd'].reduce((sdp, name) => {
          const line = new RegExp(`^a=${name}:.*$`, 'm').exec(fragment)?.[0] ?? '';
          return sdp.replaceAll(new RegExp(`^a=${name}:.*$`, 'gm'), line.trim());
        }, answer);
        await connection.setRemoteDescription({ type: 'answer', sdp: replaced });
      };
      Object.assign(globalThis, { whip: { connection, restart } });
      return { session, offeredAt };
    },
    [url, token, css(red)] as const,
  );
}

test('a page publishes simulcast with WHIP, restarts ICE, and is seen and heard in each layer until it closes its connection', async (t) => {
  const fixture = await startClientFixture(t, { SVC_CORS_ORIGINS: '*' });
  const { node, roomId, browser, pageUrl } = fixture;
  const { body } = await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId: 'encoder' });
  const viewer = await enter(fixture, 'viewer');
  const page = await browser.newPage(pageUrl);
  const { session, offeredAt } = await publish(page, `${node.url}/whip/${roomId}`, body.data.token);
  await viewer.sees({ id: 'encoder' }, red);
  const seenAt = await viewer.page.evaluate(() => {
    const arrived = [...(kit.rooms.main?.arrived.values() ?? [])].find(({ kind }) => kind === 'video');
    return performance.timeOrigin + (arrived?.firstFrame ?? Number.NaN);
  });
  t.diagnostic(`the first frame was seen ${Math.round(seenAt - offeredAt)} ms after the offer`);
  await viewer.hears({ id: 'encoder' }, 440);
  const tracks = (await node.api.get(`/room/${roomId}/peer/encoder`)).body.data.peer.tracks;
  assert.deepEqual(
    tracks.map(({ encoding, simulcast }: { encoding: string; simulcast: boolean }) => [encoding, simulcast]),
    [
      ['opus', false],
      ['vp8', true],
    ],
  );

  const width = (wanted: number) =>
    eventuallyIn(viewer.page, async (expected) => (await kit.rooms.main?.frameOf('encoder'))?.width === expected, wanted);
  const resize = (size: string) =>
    viewer.page.evaluate((to) => {
      for (const element of kit.rooms.main?.elements.values() ?? [])
        [element.style.width, element.style.height] = to.split(' ') as [string, string];
    }, size);
  await resize('160px 90px');
  await width(320);
  await resize('1280px 720px');
  await width(1280);

  await page.evaluate(() => (globalThis as unknown as { whip: { restart: () => Promise<void> } }).whip.restart());
  await viewer.sees({ id: 'encoder' }, red);
  assert.equal(
    await page.evaluate(() => (globalThis as unknown as { whip: { connection: RTCPeerConnection } }).whip.connection.connectionState),
    'connected',
  );

  // Without DELETE: closing the connection ends DTLS.
  await page.evaluate(() => (globalThis as unknown as { whip: { connection: RTCPeerConnection } }).whip.connection.close());
  await viewer.waitForNote('trackUnsubscribed');
  const deleted = await fetch(session, { method: 'DELETE', headers: { authorization: `Bearer ${body.data.token}` } });
  assert.equal(deleted.status, 404);
});
