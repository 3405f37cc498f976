// Client kit: plain pages with the client library in rooms of a node.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { RoomClientOptions } from '../../packages/client/src/index.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { type BrowserOptions, eventuallyIn, type StartedBrowser, startBrowser } from '../kit/browser/browser.ts';
import type { Colour } from '../kit/browser/client-page.ts';
import type { ScriptedPage } from '../kit/browser/page-state.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { type StartedNode, startNode } from '../kit/processes/start-node.ts';
import { MediaPage } from './media-page.ts';

export type ClientFixture = { node: StartedNode; browser: StartedBrowser; pageUrl: string; roomId: string };
/** A fixture whose browser may be another one. */
export type PageFixture<Own extends ScriptedPage> = Omit<ClientFixture, 'browser'> & {
  browser: { newPage: (url: string) => Promise<Own> };
};

/** Starts a node and a browser, and creates a room. */
export async function startClientFixture(
  t: TestContext,
  env: Record<string, string> = {},
  options: BrowserOptions = {},
): Promise<ClientFixture> {
  // Sequentially: a process that is still starting when another one fails would outlive the test.
  const node = await startNode(t, env);
  const pageUrl = await servePlainPage(t, env.SVC_IP);
  const browser = await startBrowser(t, { shared: true, ...options });
  const answer = await node.api.post('/room', {});
  assert.equal(answer.status, 201);
  return { node, browser, pageUrl, roomId: answer.body.data.room.id };
}

export type Options = Partial<
  Pick<RoomClientOptions, 'iceProtocols' | 'iceTransportPolicy' | 'subscribe' | 'takeover' | 'metadata' | 'timing' | 'fallbackUrls'>
>;
/** `rate`: frames per second. */
type Publishing = { colour?: string; width?: number; height?: number; rate?: number; tone?: number };

/** A peer of the room, with its page. */
export class PagePeer<Own extends ScriptedPage = Page> extends MediaPage<Own> {
  constructor(id: string, page: Own) {
    super(id, page, 'kit');
  }

  /** Joins the room from a page that has the client library. `joined`: resolve only after that. */
  static async join<Own extends ScriptedPage>(
    page: Own,
    id: string,
    settings: Options & Pick<RoomClientOptions, 'url' | 'token'>,
    joined = true,
  ): Promise<PagePeer<Own>> {
    await page.evaluate(
      async ([given, wait]) => {
        kit.rooms.main = new kit.TestRoom({ fallbackUrls: [], logger: console, ...JSON.parse(given) });
        const joining = kit.rooms.main.room.join();
        if (wait) await joining;
      },
      [JSON.stringify(settings), joined] as const,
    );
    return new PagePeer(id, page);
  }

  async publish(publishing: Publishing): Promise<void> {
    await this.page.evaluate(async ({ colour, width, height, rate, tone }) => {
      const { room } = kit.rooms.main as InstanceType<typeof kit.TestRoom>;
      const tracks = [
        ...(colour === undefined ? [] : [kit.pattern(colour, width, height, rate)]),
        ...(tone === undefined ? [] : [kit.tone(tone)]),
      ];
      await Promise.all(tracks.map((track) => room.publish(track)));
    }, publishing);
  }

  /** Ids of the received tracks, with the ids of the streams of their elements. */
  shown(): Promise<[trackId: string, streamId: string][]> {
    return this.page.evaluate(() =>
      [...(kit.rooms.main?.elements ?? [])].map(([id, element]): [string, string] => [id, (element.srcObject as MediaStream).id]),
    );
  }

  state(): Promise<string> {
    return this.page.evaluate(() => kit.rooms.main?.room.state ?? '');
  }

  /** Notes of the page: states, messages, layers. */
  notes(name?: string): Promise<{ at: number; name: string; detail?: unknown }[]> {
    return this.page.evaluate((wanted) => kit.rooms.main?.notes.filter((note) => wanted === undefined || note.name === wanted) ?? [], name);
  }

  async waitForNote(name: string, after = 0, timeoutMs = 60_000): Promise<{ at: number; name: string; detail?: unknown }> {
    await eventuallyIn(
      this.page,
      ([wanted, from]) => kit.rooms.main?.notes.some((note) => note.name === wanted && note.at > from),
      [name, after] as const,
      timeoutMs,
    );
    const found = (await this.notes(name)).find(({ at }) => at > after);
    assert.ok(found);
    return found;
  }

  now(): Promise<number> {
    return this.page.evaluate(() => performance.now());
  }

  /** Resolves when the video of the other peer has its first frame, with the time of that. */
  firstFrameOf(other: { id: string }): Promise<number> {
    return eventuallyIn(
      this.page,
      (peerId: string) => kit.rooms.main?.arrived.get(kit.rooms.main.trackOf(peerId, 'video') ?? '')?.firstFrame,
      other.id,
    );
  }
}

/** A page whose peer has joined the room, or joins it. `port`: port of the websocket instead of that of the node, e.g. of a proxy. */
export async function enter<Own extends ScriptedPage>(
  fixture: PageFixture<Own>,
  peerId: string,
  options: Options = {},
  port: number = fixture.node.port,
  joined = true,
): Promise<PagePeer<Own>> {
  const { node, browser, pageUrl, roomId } = fixture;
  const answer = await node.api.post(`/room/${roomId}/peer`, { type: 'webrtc', options: {}, peerId });
  assert.equal(answer.status, 201);
  const page = await browser.newPage(pageUrl);
  const { token } = answer.body.data;
  const url = new URL(node.peerSocketUrl);
  url.port = String(port);
  return PagePeer.join(page, peerId, { ...options, token, url: url.href }, joined);
}

/** Number of peers of a room at each of two media workers. */
export async function peersByWorker(api: ApiClient, roomId: string): Promise<number[]> {
  const { legs } = (await api.get(`/room/${roomId}`)).body.data as { legs: { worker: number; peers: number }[] };
  return [0, 1].map((worker) => legs.find((leg) => leg.worker === worker)?.peers ?? 0);
}

export const red: Colour = [200, 30, 30];
export const blue: Colour = [30, 30, 200];
export const green: Colour = [30, 150, 30];
export const css = (colour: Colour): string => `rgb(${colour.join(' ')})`;
