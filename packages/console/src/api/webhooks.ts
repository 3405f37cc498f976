// Webhooks API: state of the receivers of all nodes, dead letters, redelivery. Receivers are named without their path.
import type { DeadLetter, WebhookReplay, WebhookStatus } from '../../../server-sdk/src/generated/schemas.ts';
import type { Api } from './rest.ts';

/** `incomplete`: unreachable nodes. */
type Answer<T> = { data: T; incomplete: string[] };

/** Maximum number of dead letters in one list. */
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

/** Redelivers dead letters. @returns how many */
export async function replayDeadLetters(api: Api, filter: WebhookReplay): Promise<Answer<{ replayed: number }>> {
  const { method, path, body } = webhookEndpoints.replay(filter);
  return (await api.call(method, path, body)) as Answer<{ replayed: number }>;
}
