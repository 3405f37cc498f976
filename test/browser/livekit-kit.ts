// LiveKit kit: pages with LiveKit's unmodified client in rooms of a node.
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { type AccessTokenInit, accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import type { ScriptedPage } from '../kit/browser/page-state.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { startNode } from '../kit/processes/start-node.ts';
import type { ClientFixture, PageFixture } from './client-kit.ts';
import { MediaPage } from './media-page.ts';

export const livekitEnvironment = { SVC_LIVEKIT_ENABLED: 'true', SVC_ACCESS_KEYS: accessKeysText, SVC_CORS_ORIGINS: '*' };

/** Starts a node that accepts LiveKit's clients and a browser, and creates a room. */
export async function startLiveKitFixture(t: TestContext, env: Record<string, string> = {}): Promise<ClientFixture> {
  const node = await startNode(t, { ...livekitEnvironment, ...env });
  const pageUrl = await servePlainPage(t, '127.0.0.1', undefined, 'livekit-page.ts');
  const browser = await startBrowser(t, { shared: true });
  const answer = await node.api.post('/room', {});
  return { node, browser, pageUrl, roomId: answer.body.data.room.id };
}

const worker = fileURLToPath(import.meta.resolve('livekit-client/e2ee-worker'));

/**
 * `room`: options of the room of the client, which has one peer connection by default; `key`: encrypts all media and data end to end;
 * `without`: a codec that it cannot decode.
 */
type JoinOptions = {
  token?: AccessTokenInit;
  url?: string;
  options?: { autoSubscribe?: boolean };
  room?: { dynacast?: boolean; singlePeerConnection?: boolean };
  key?: string;
  without?: 'VP9' | 'AV1';
};
type Publishing = {
  colour?: string;
  width?: number;
  height?: number;
  tone?: number;
  videoCodec?: 'vp8' | 'vp9' | 'av1';
  scalabilityMode?: 'L3T3' | 'L3T3_KEY';
};

/** A participant of a room with LiveKit's client. */
export class LiveKitPeer<Own extends ScriptedPage = Page> extends MediaPage<Own> {
  constructor(id: string, page: Own) {
    super(id, page, 'livekit');
  }

  /** Joins from a page of its own. */
  static async join<Own extends ScriptedPage>(
    { node, browser, pageUrl, roomId }: PageFixture<Own>,
    identity: string,
    options: JoinOptions = {},
  ): Promise<LiveKitPeer<Own>> {
    const page = await browser.newPage(pageUrl);
    const token = { identity, room: roomId, ...options.token };
    return LiveKitPeer.enter(page, { url: node.url, ...options, token });
  }

  /** Joins from this page. `url`: of the node. */
  static async enter<Own extends ScriptedPage>(
    page: Own,
    { token, url, options = {}, room = {}, key, without }: JoinOptions & { token: AccessTokenInit & { identity: string }; url: string },
  ): Promise<LiveKitPeer<Own>> {
    if (without) await page.evaluate((codec) => livekit.forgetCodec(codec), without);
    const signed = await signAccessToken(token);
    await page.evaluate(
      async ([address, text, given, ofRoom, encryption]) => {
        livekit.rooms.main = encryption
          ? await livekit.LiveKitRoom.encrypted(encryption.key, encryption.worker)
          : new livekit.LiveKitRoom(ofRoom);
        await livekit.rooms.main.room.connect(address, text, given);
      },
      [
        url.replace(/^http/, 'ws'),
        signed,
        options,
        room,
        key === undefined ? undefined : { key, worker: await readFile(worker, 'utf8') },
      ] as const,
    );
    return new LiveKitPeer(token.identity, page);
  }

  async publish(publishing: Publishing): Promise<void> {
    await this.page.evaluate(async ({ colour, width, height, tone, ...options }) => {
      const { Camera, Microphone } = livekit.Track.Source;
      const local = livekit.rooms.main?.room.localParticipant;
      if (colour !== undefined) await local?.publishTrack(kit.pattern(colour, width, height), { source: Camera, ...options });
      if (tone !== undefined) await local?.publishTrack(kit.tone(tone), { source: Microphone, dtx: false });
    }, publishing);
  }

  /** Requests the video of the other participant in a quality, once it is published. */
  async prefer(other: { id: string }, quality: 'LOW' | 'HIGH'): Promise<void> {
    await eventuallyIn(
      this.page,
      ([id, wanted]) => {
        const [publication] = livekit.rooms.main?.room.remoteParticipants.get(id)?.videoTrackPublications.values() ?? [];
        publication?.setVideoQuality(livekit.VideoQuality[wanted]);
        return publication !== undefined;
      },
      [other.id, quality] as const,
    );
  }

  /** With which the client joins again. */
  token(): Promise<string | undefined> {
    return this.page.evaluate(() => (livekit.rooms.main?.room as unknown as { engine: { token?: string } } | undefined)?.engine.token);
  }

  notes(name: string): Promise<{ at: number; name: string; detail?: unknown }[]> {
    return this.page.evaluate((wanted) => livekit.rooms.main?.notes.filter((note) => note.name === wanted) ?? [], name);
  }

  /** Resolves when an event with this detail has occurred. */
  async waitForNote(name: string, detail?: unknown): Promise<void> {
    await eventuallyIn(
      this.page,
      ([wanted, text]) =>
        livekit.rooms.main?.notes.some((note) => note.name === wanted && (text === undefined || JSON.stringify(note.detail) === text)),
      [name, detail === undefined ? undefined : JSON.stringify(detail)] as const,
    );
  }
}
