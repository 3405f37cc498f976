// WHEP kit: pages that play the room of a node with WHEP.
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Colour } from '../kit/browser/client-page.ts';
import type { ClientFixture } from './client-kit.ts';

type Player = {
  connection: RTCPeerConnection;
  video: HTMLVideoElement;
  session: string;
  offeredAt: number;
  firstFrame?: number;
  client?: InstanceType<typeof kit.WHEPClient>;
};
declare global {
  var player: Player;
}

/** The whole player: 40 lines. */
export function play(page: Page, endpoint: string, token: string): Promise<void> {
  return page.evaluate(
    async ([url, bearer]) => {
      const connection = new RTCPeerConnection();
      const stream = new MediaStream();
      connection.ontrack = ({ track }) => stream.addTrack(track);
      connection.addTransceiver('audio', { direction: 'recvonly' });
      connection.addTransceiver('video', { direction: 'recvonly' });
      const video = document.createElement('video');
      video.muted = true;
      video.autoplay = true;
      video.srcObject = stream;
      document.body.append(video);
      await connection.setLocalDescription();
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/sdp' };
      const offeredAt = performance.now();
      const response = await fetch(url, { method: 'POST', headers, body: connection.localDescription?.sdp ?? '' });
      if (response.status !== 201) throw new Error(await response.text());
      await connection.setRemoteDescription({ type: 'answer', sdp: await response.text() });
      globalThis.player = { connection, video, offeredAt, session: new URL(response.headers.get('location') ?? '', url).href };
      video.requestVideoFrameCallback((now) => {
        globalThis.player.firstFrame = now;
      });
    },
    [endpoint, token] as const,
  );
}

/** Resolves when the video of the player has this color and moves, and its audio has this frequency. */
export async function shows(page: Page, colour: Colour, frequency: number): Promise<void> {
  await eventuallyIn(
    page,
    async (wanted) => {
      const seen = player.video.videoWidth > 0 ? await kit.probe(player.video) : undefined;
      return seen && seen.change > 0.5 && seen.colour.every((value, index) => Math.abs(value - (wanted[index] ?? 0)) < 40);
    },
    colour,
  );
  await eventuallyIn(
    page,
    async (wanted) => {
      const [track] = (player.video.srcObject as MediaStream).getAudioTracks();
      return track && Math.abs((await kit.loudest(track)) - wanted) < 15;
    },
    frequency,
  );
}

/** SSRCs, lost packets and formats of what the player receives. */
export function received(page: Page): Promise<{ kind: 'audio' | 'video'; ssrc: number; lost: number; codec: string }[]> {
  return page.evaluate(async () => {
    const report = await player.connection.getStats();
    const entries = [...report.values()];
    return entries
      .filter(({ type }) => type === 'inbound-rtp')
      .map(({ kind, ssrc, packetsLost, codecId }) => ({ kind, ssrc, lost: packetsLost, codec: report.get(codecId)?.mimeType ?? '' }))
      .sort((a, b) => a.kind.localeCompare(b.kind));
  });
}

type NewPlayer = { page: Page; id: string; token: string };

export async function newPlayer({ node, browser, pageUrl, roomId }: ClientFixture, start: typeof play, query = ''): Promise<NewPlayer> {
  const { peer, token } = (await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc' })).body.data;
  const page = await browser.newPage(pageUrl);
  await start(page, `${node.url}/whep/${roomId}${query}`, token);
  return { page, id: peer.id, token };
}
