// Webhooks of all nodes over REST: who is behind, what was given up, and sending that again. Receivers are named without their path.
import type { DeadLetter, WebhookReplay, WebhookStatus } from '../../../server-sdk/src/generated/schemas.ts';
import type { Api } from './rest.ts';

/** `incomplete`: nodes that did not answer. */
type Answer<T> = { data: T; incomplete: string[] };

/** Most dead letters that are listed at once. */
export const maxDeadLetters = 999;

export const webhookEndpoints = {
  status: { method: 'GET', path: 'webhooks' },
  letters: (roomId: string, limit: number) => {
    const query = new URLSearchParams({ limit: String(limit), ...(roomId !== '' && { roomId }) });
    return { method: 'GET', path: `webhooks/dead?${query}` };
  },
  replay: (filter: WebhookReplay) => ({ method: 'POST', path: 'webhooks/dead/replay', body: filter }),
};

export async function fetchWebhooks(api: Api, signal: AbortSignal): Promise<Answer<WebhookStatus[]>> {
  const { method, path } = webhookEndpoints.status;
  return (await api.call(method, path, undefined, signal)) as Answer<WebhookStatus[]>;
}

/** The newest `limit`, newest first; with `roomId` only those of that room. */
export async function listDeadLetters(api: Api, roomId: string, limit: number, signal: AbortSignal): Promise<Answer<DeadLetter[]>> {
  const { method, path } = webhookEndpoints.letters(roomId, limit);
  return (await api.call(method, path, undefined, signal)) as Answer<DeadLetter[]>;
}

/** Sends dead letters again. @returns how many */
export async function replayDeadLetters(api: Api, filter: WebhookReplay): Promise<Answer<{ replayed: number }>> {
  const { method, path, body } = webhookEndpoints.replay(filter);
  return (await api.call(method, path, body)) as Answer<{ replayed: number }>;
}
