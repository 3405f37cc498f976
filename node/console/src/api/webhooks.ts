// Webhooks of all nodes over REST: who is behind, what was given up, and sending that again. Receivers are named without their path.
import type { Api } from './rest.ts';

/** `problem`: why the last try of something that waits failed. */
export type Receiver = { receiver: string; pending: number; rooms: number; failing: boolean; problem?: string };
/** Of one node; counts are since its start. */
export type WebhookStatus = {
  node: string;
  delivered: number;
  retries: number;
  dead: number;
  pending: number;
  pendingBytes: number;
  spoolErrors: number;
  spoolBytes: number;
  receivers: Receiver[];
};
export type WebhookEvent = { id: string; type: string; time: string; roomId: string };
export type DeadLetter = { node: string; receiver: string; givenUpAt: string; reason: string; attempts: number; event: WebhookEvent };
/** Without anything: all. */
export type ReplayFilter = { roomId?: string; eventIds?: string[] };
/** `incomplete`: nodes that did not answer. */
type Answer<T> = { data: T; incomplete: string[] };

/** Most dead letters that are listed at once. */
export const maxLetters = 999;

export const webhookCalls = {
  status: { method: 'GET', path: 'webhooks' },
  letters: (roomId: string, limit: number) => {
    const query = new URLSearchParams({ limit: String(limit), ...(roomId !== '' && { roomId }) });
    return { method: 'GET', path: `webhooks/dead?${query}` };
  },
  replay: (filter: ReplayFilter) => ({ method: 'POST', path: 'webhooks/dead/replay', body: filter }),
};

export async function fetchWebhooks(api: Api, signal: AbortSignal): Promise<Answer<WebhookStatus[]>> {
  const { method, path } = webhookCalls.status;
  return (await api.call(method, path, undefined, signal)) as Answer<WebhookStatus[]>;
}

/** The newest `limit`, newest first; with `roomId` only those of that room. */
export async function listDeadLetters(api: Api, roomId: string, limit: number, signal: AbortSignal): Promise<Answer<DeadLetter[]>> {
  const { method, path } = webhookCalls.letters(roomId, limit);
  return (await api.call(method, path, undefined, signal)) as Answer<DeadLetter[]>;
}

/** Sends dead letters again. @returns how many */
export async function replayDeadLetters(api: Api, filter: ReplayFilter): Promise<Answer<{ replayed: number }>> {
  const { method, path, body } = webhookCalls.replay(filter);
  return (await api.call(method, path, body)) as Answer<{ replayed: number }>;
}
