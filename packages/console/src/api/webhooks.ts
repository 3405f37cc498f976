// Webhooks API: state of the receivers of all nodes, dead letters, redelivery. Receivers are named without their path.
import type { DeadLetter, WebhookReplay, WebhookStatus } from '../../../server-sdk/src/generated/schemas.ts';
import { operationRequest } from './operation-request.ts';
import type { Api } from './rest.ts';

/** `incomplete`: unreachable nodes. */
type Answer<T> = { data: T; incomplete: string[] };

/** Maximum number of dead letters in one list. */
export const maxDeadLetters = 999;

export const webhookEndpoints = {
  status: operationRequest('getWebhooks'),
  letters: (roomId: string, limit: number) =>
    operationRequest('listDeadLetters', { query: { limit: String(limit), ...(roomId !== '' && { roomId }) } }),
  replay: (filter: WebhookReplay) => operationRequest('replayDeadLetters', { body: filter }),
};

export async function fetchWebhooks(api: Api, signal: AbortSignal): Promise<Answer<WebhookStatus[]>> {
  return api.send(webhookEndpoints.status, signal);
}

/** The newest `limit`, newest first; with `roomId` only those of that room. */
export async function listDeadLetters(api: Api, roomId: string, limit: number, signal: AbortSignal): Promise<Answer<DeadLetter[]>> {
  return api.send(webhookEndpoints.letters(roomId, limit), signal);
}

/** Redelivers dead letters. @returns how many */
export async function replayDeadLetters(api: Api, filter: WebhookReplay): Promise<Answer<{ replayed: number }>> {
  return api.send(webhookEndpoints.replay(filter));
}
