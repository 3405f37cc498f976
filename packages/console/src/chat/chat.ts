// The messages of a call: sent over the data of the room, kept by this page alone and only as long as it is open.
import { errorMessage } from '../api/rest.ts';
import { Store } from '../hooks/store.ts';
import { maxMessageLength, messageText } from './chat-text.ts';

export type ChatMessage = {
  id: number;
  /** As it was when the message came. */
  name: string;
  own: boolean;
  text: string;
  at: Date;
  /** Of own ones: on their way, taken by the server, or not sent and why. */
  state: 'sending' | 'sent' | 'failed';
  problem?: string;
};

export type ChatState = {
  messages: readonly ChatMessage[];
  open: boolean;
  unread: number;
  /** Who wrote so much that some was left out. */
  flooded: string | undefined;
};

export type ChatOptions = {
  /** Resolves when the server has it. */
  send: (payload: { text: string }) => Promise<void>;
  now?: () => Date;
};

export const chatLabel = 'chat';
/** Messages that are kept; older ones go. */
const most = 300;
/** Messages of one sender within the time in milliseconds; what is more is left out. */
const burst = 20;
const burstTime = 10_000;

export class Chat extends Store<ChatState> {
  readonly #options: ChatOptions;
  readonly #now: () => Date;
  /** When the last messages of each sender came. */
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

  /** Sends it; what becomes of it is seen in the list. */
  send(text: string): void {
    const clean = messageText(text.slice(0, maxMessageLength));
    if (clean === undefined) return;
    const id = this.#add({ name: '', own: true, text: clean, state: 'sending' });
    this.#deliver(id, clean);
  }

  /** Once more, where it failed. */
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
    this.update({ messages: [...this.state.messages, { ...message, id, at: this.#now() }].slice(-most) });
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
    // As many senders as a room has peers; those long silent go.
    if (this.#times.size > most) this.#times.delete(this.#times.keys().next().value ?? '');
    return true;
  }
}
