// Webhook form: how receivers of another form than ours get events.
import type { RoomEvent } from '../../../api/events.ts';

export interface WebhookForm {
  /** The JSON of an event. It is called in order for all events of local rooms. @returns undefined if the form has none for it */
  convert(event: RoomEvent): object | undefined;
  /** Headers of a request with this body. @throws Error if it cannot be signed */
  headers(body: string): Promise<Record<string, string>>;
}
