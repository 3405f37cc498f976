// Media page: what the page of a participant sees and hears, whatever its client.
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import type { Colour, FrameProbe } from '../kit/browser/client-page.ts';
import type { ScriptedPage } from '../kit/browser/page-state.ts';

/** Rooms of a page script. */
type PageScript = {
  rooms: Record<string, { frameOf: (id: string) => Promise<FrameProbe | undefined>; toneOf: (id: string) => Promise<number | undefined> }>;
};

/** `script`: of the page; it keeps the room. */
export class MediaPage<Own extends ScriptedPage = Page> {
  readonly id: string;
  readonly page: Own;
  readonly #script: 'kit' | 'livekit';

  constructor(id: string, page: Own, script: 'kit' | 'livekit') {
    this.id = id;
    this.page = page;
    this.#script = script;
  }

  /** Resolves when the video of the other participant has this color and moves. */
  async sees(other: { id: string }, colour: Colour): Promise<void> {
    await eventuallyIn(
      this.page,
      async ([script, id, wanted]) => {
        const scripts = globalThis as unknown as Record<string, PageScript>;
        const seen = await scripts[script]?.rooms.main?.frameOf(id);
        return seen && seen.change > 0.5 && seen.colour.every((value, index) => Math.abs(value - (wanted[index] ?? 0)) < 40);
      },
      [this.#script, other.id, colour] as const,
    );
  }

  /** Resolves when the video of the other participant arrives in a width of this range, in pixels. */
  async seesWidth(other: { id: string }, least: number, most = least): Promise<void> {
    await eventuallyIn(
      this.page,
      async ([script, id, from, to]) => {
        const scripts = globalThis as unknown as Record<string, PageScript>;
        const { width = 0 } = (await scripts[script]?.rooms.main?.frameOf(id)) ?? {};
        return from <= width && width <= to;
      },
      [this.#script, other.id, least, most] as const,
    );
  }

  /** Resolves when the loudest frequency of the other participant is this one; 0 is silence. */
  async hears(other: { id: string }, frequency: number): Promise<void> {
    await eventuallyIn(
      this.page,
      async ([script, id, wanted]) => {
        const scripts = globalThis as unknown as Record<string, PageScript>;
        const heard = await scripts[script]?.rooms.main?.toneOf(id);
        return heard !== undefined && Math.abs(heard - wanted) < 15;
      },
      [this.#script, other.id, frequency] as const,
    );
  }
}
