// Chat: messages sent as data of the room, kept in this page only.
import { errorMessage } from '../api/rest.ts';
import { Store } from '../hooks/store.ts';
import { maxMessageLength, messageText } from './chat-text.ts';

export type ChatMessage = {
  id: number;
  /** Name of the sender at the time of the message. */
  name: string;
  own: boolean;
  text: string;
  at: Date;
  /** Delivery of own messages; `problem` says why one failed. */
  state: 'sending' | 'sent' | 'failed';
  problem?: string;
};

export type ChatState = {
  messages: readonly ChatMessage[];
  open: boolean;
  unread: number;
  /** Name of a sender whose messages exceeded the rate limit. */
  flooded: string | undefined;
};

export type ChatOptions = {
  /** Resolves when the server has accepted it. */
  send: (payload: { text: string }) => Promise<void>;
  now?: () => Date;
};

export const chatLabel = 'chat';
/** Maximum number of kept messages; older ones are dropped. */
const maxMessages = 300;
/** Rate limit: messages of one sender within the time in milliseconds. */
const burst = 20;
const burstTime = 10_000;

export class Chat extends Store<ChatState> {
  readonly #options: ChatOptions;
  readonly #now: () => Date;
  /** Times of the last messages of each sender. */
  readonly #times = new Map<string, number[]>();
  #nextId = 1;

  constructor(options: ChatOptions) {
    super({ messages: [], open: false, unread: 0, flooded: undefined });
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
  }

  setOpen(open: boolean): void {
    this.update({ open, unread: 0 });
  }

  /** Sends a message; the list shows its delivery. */
  send(text: string): void {
    const clean = messageText(text.slice(0, maxMessageLength));
    if (clean === undefined) return;
    const id = this.#add({ name: '', own: true, text: clean, state: 'sending' });
    this.#deliver(id, clean);
  }

  /** Retries a failed message. */
  sendAgain(id: number): void {
    const message = this.state.messages.find((each) => each.id === id);
    if (message?.state !== 'failed') return;
    this.#change(id, { state: 'sending' });
    this.#deliver(id, message.text);
  }

  /** @param from the id of the peer, or null for the server */
  receive(from: string | null, name: string, payload: unknown): void {
    const text = messageText(payload);
    if (text === undefined) return;
    if (!this.#mayWrite(from ?? '')) {
      this.update({ flooded: name });
      return;
    }
    this.#add({ name, own: false, text, state: 'sent' });
    if (!this.state.open) this.update({ unread: this.state.unread + 1 });
  }

  #deliver(id: number, text: string): void {
    this.#options.send({ text }).then(
      () => this.#change(id, { state: 'sent' }),
      (error: unknown) => this.#change(id, { state: 'failed', problem: errorMessage(error) }),
    );
  }

  #add(message: Omit<ChatMessage, 'id' | 'at'>): number {
    const id = this.#nextId;
    this.#nextId += 1;
    this.update({ messages: [...this.state.messages, { ...message, id, at: this.#now() }].slice(-maxMessages) });
    return id;
  }

  #change(id: number, change: Partial<ChatMessage>): void {
    this.update({ messages: this.state.messages.map((each) => (each.id === id ? { ...each, ...change } : each)) });
  }

  #mayWrite(from: string): boolean {
    const now = this.#now().getTime();
    const times = (this.#times.get(from) ?? []).filter((at) => now - at < burstTime);
    if (times.length >= burst) return false;
    this.#times.set(from, [...times, now]);
    // Bounded; the sender that was added first is dropped.
    if (this.#times.size > maxMessages) this.#times.delete(this.#times.keys().next().value ?? '');
    return true;
  }
}
