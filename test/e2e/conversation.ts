// Conversation: two browsers outside of the cluster in a Room, with checks of media and of disturbances.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { blue, css, type PagePeer, type Options as PeerOptions, red } from '../browser/client-kit.ts';
import { type KubeJson, readObject } from '../kit/kube/read-objects.ts';
import type { Installed } from './installed.ts';

export const people = { peers: [{ name: 'anna' }, { name: 'bert' }] };

/** Small frames, because browsers share the few cores of the cluster. */
const small = { width: 320, height: 180 };

/** Events that are no disturbance. */
const usual = ['activeSpeaker', 'layersChanged'];

/** Pages of anna and bert. */
type Pages = readonly [Page | Promise<Page>, Page | Promise<Page>];

export class Conversation {
  readonly anna: PagePeer;
  readonly bert: PagePeer;
  readonly room: string;
  #from: readonly [anna: number, bert: number] = [0, 0];

  private constructor(room: string, anna: PagePeer, bert: PagePeer) {
    this.room = room;
    this.anna = anna;
    this.bert = bert;
  }

  /** Joins a Ready Room with both peers; returns when both receive video and audio. */
  static async begin(installed: Installed, room: string, [first, second]: Pages, options: PeerOptions = {}): Promise<Conversation> {
    const [anna, bert] = await Promise.all([installed.enter(first, room, 'anna', options), installed.enter(second, room, 'bert', options)]);
    const conversation = new Conversation(room, anna, bert);
    await Promise.all([anna.publish({ ...small, colour: css(red), tone: 440 }), bert.publish({ ...small, colour: css(blue), tone: 1000 })]);
    await conversation.flows();
    await conversation.mark();
    return conversation;
  }

  /** Starts browsers and a Room. `spec`: of the Room, with its peers. */
  static async start(
    t: TestContext,
    installed: Installed,
    room: string,
    options: PeerOptions = {},
    spec: object = people,
  ): Promise<Conversation> {
    const [browser] = await Promise.all([installed.browser(t), installed.room(room, spec)]);
    return Conversation.begin(installed, room, [installed.openPage(browser), installed.openPage(browser)], options);
  }

  /** Waits until the Room has another incarnation and is Ready. @returns its status */
  async movedFrom(installed: Installed, incarnation: string, timeoutMs?: number): Promise<KubeJson> {
    return installed.cluster.until(
      'the Room is Ready elsewhere',
      async () => {
        const { status } = (await readObject(installed.cluster.server, 'rooms', this.room, installed.namespace)) as KubeJson;
        return status.phase === 'Ready' && status.incarnation !== incarnation && status;
      },
      timeoutMs,
    );
  }

  /** Waits until both receive media again without any action. */
  async cameBack(): Promise<void> {
    await this.flows();
    assert.equal(await this.pagesStayed(), true);
  }

  /** Waits for moving video and tones in both directions. */
  async flows(): Promise<void> {
    const { anna, bert } = this;
    await Promise.all([anna.sees(bert, blue), bert.sees(anna, red), anna.hears(bert, 1000), bert.hears(anna, 440)]);
  }

  /** Time of the first shown frame of the later receiver, in milliseconds since 1970. For measurements: `flows` needs five frames. */
  async firstFrames(): Promise<number> {
    const shown = [this.anna, this.bert].map(({ page }) =>
      page.evaluate(() => {
        const videos = [...(kit.rooms.main?.arrived.values() ?? [])].filter(({ kind }) => kind === 'video');
        return videos.map(({ firstFrame = Number.NaN }) => performance.timeOrigin + firstFrame);
      }),
    );
    return Math.max(...(await Promise.all(shown)).flat());
  }

  /** Starts to record disturbances. */
  async mark(): Promise<void> {
    const forget = ({ page }: PagePeer) => page.evaluate(() => kit.rooms.main?.gaps.clear());
    await Promise.all([forget(this.anna), forget(this.bert)]);
    this.#from = await Promise.all([this.anna.now(), this.bert.now()]);
  }

  /** Disturbances of connections and tracks since the mark. */
  async disturbances(expected: readonly string[] = []): Promise<string[]> {
    const [anna, bert] = await Promise.all([this.anna.notes(), this.bert.notes()]);
    const telling = (notes: typeof anna, from: number) =>
      notes.filter(({ at, name }) => at > from && ![...usual, ...expected].includes(name));
    return [...telling(anna, this.#from[0]), ...telling(bert, this.#from[1])].map(
      ({ name, detail }) => `${name} ${JSON.stringify(detail)}`,
    );
  }

  /** @throws on an unexpected disturbance since the mark, or if media does not flow now */
  async assertUndisturbed(expected: readonly string[] = []): Promise<void> {
    await this.flows();
    assert.deepEqual(await this.disturbances(expected), []);
  }

  /** Longest time between two shown frames since the mark, in milliseconds. */
  async maxGapMs(): Promise<number> {
    const gaps = [this.anna, this.bert].map(({ page }) => page.evaluate(() => [...(kit.rooms.main?.gaps.values() ?? [])]));
    return Math.max(...(await Promise.all(gaps)).flat());
  }

  /** Whether both pages were never reloaded. */
  async pagesStayed(): Promise<boolean> {
    const counts = await Promise.all(
      [this.anna, this.bert].map(({ page }) => page.evaluate(() => performance.getEntriesByType('navigation').length)),
    );
    const rooms = await Promise.all([this.anna, this.bert].map(({ page }) => page.evaluate(() => kit.rooms.main !== undefined)));
    return counts.every((count) => count === 1) && rooms.every(Boolean);
  }

  async end(): Promise<void> {
    await Promise.all([this.anna.page.close(), this.bert.page.close()]);
  }
}
