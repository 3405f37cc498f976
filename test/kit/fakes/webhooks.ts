// Webhooks under test: fixed settings, short delays, and synthetic events.
import type { TestContext } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { WebhookStore } from '../../../node/events/webhooks/store.ts';
import { type WebhookSettings, Webhooks, type WebhooksOptions } from '../../../node/events/webhooks/webhooks.ts';
import { eventually } from '../eventually.ts';
import { recordedLog } from '../recorded-log.ts';
import { silentLog } from '../silent-log.ts';

export const secret = `whsec_${Buffer.from('a secret of twenty-four bytes').toString('base64')}`;

export function testSettings(changes: Partial<WebhookSettings> = {}): WebhookSettings {
  return { urls: [], livekitUrls: [], secrets: [secret], maxAge: 60_000, allowPrivate: true, pendingMaxBytes: 1024 * 1024, ...changes };
}

/** Webhooks that stop with the test; a failed attempt is retried after 10 ms. */
export function startWebhooks(t: TestContext, settings: WebhookSettings, options: Partial<WebhooksOptions> = {}) {
  const recorded = recordedLog();
  const webhooks = new Webhooks({
    log: recorded.log,
    settings: () => settings,
    userAgent: 'Mediarooms/test',
    ...options,
    dispatcher: { delay: () => 10, ...options.dispatcher },
  });
  t.after(() => webhooks.close(0));
  return { webhooks, ...recorded };
}

export async function openStore(base: string, name = 'node@host'): Promise<WebhookStore> {
  const store = await WebhookStore.open({ log: silentLog(), base, name });
  if (!store) throw new Error(`There is no store in ${base}`);
  return store;
}

/** Resolves when at most `left` events are pending: the others are delivered or dead letters. */
export async function untilPending(webhooks: Pick<Webhooks, 'counters'>, left = 0): Promise<void> {
  await eventually(`at most ${left} events are pending`, () => webhooks.counters().pending <= left, { every: 2 });
}

export function roomEvent(roomId: string, seq: number, type: RoomEvent['type'] = 'PeerAdded'): RoomEvent {
  const time = new Date().toISOString();
  return { id: `${roomId}-${seq}`, type, time, seq, node: 'test@host', incarnation: `${roomId}-incarnation`, roomId };
}
