// Message order: which messages of a data track are delivered, while one channel follows another.

type Switch = { channel: number; messages: number | null };

/** Delivers everything of a channel before anything of the one that follows it. Channels have numbers in their order. */
export class MessageOrder<Message> {
  readonly #received = new Map<number, number>();
  readonly #waiting = new Map<number, Message[]>();
  readonly #ended = new Set<number>();
  #switches: Switch[] = [];
  #current: number;

  constructor(current: number) {
    this.#current = current;
  }

  /** The channel whose messages are delivered now. */
  get current(): number {
    return this.#current;
  }

  /** True while messages of a later channel wait for those of the current one. */
  get behind(): boolean {
    return this.#switches.length > 0;
  }

  /** Each method returns the messages to deliver now. */
  receive(channel: number, message: Message): Message[] {
    this.#received.set(channel, this.#countOf(channel) + 1);
    if (channel <= this.#current) return [message, ...this.#advance()];
    const waiting = this.#waiting.get(channel) ?? [];
    waiting.push(message);
    this.#waiting.set(channel, waiting);
    return [];
  }

  /** Messages are sent on this channel, after a number of them on the one before; null: unknown. */
  switched(channel: number, messages: number | null): Message[] {
    this.#switches.push({ channel, messages });
    return this.#advance();
  }

  /** No more messages arrive on this channel. */
  ended(channel: number): Message[] {
    this.#ended.add(channel);
    return this.#advance();
  }

  /** What is missing of the current channel is not waited for. */
  skip(): Message[] {
    return this.behind ? this.ended(this.#current) : [];
  }

  #advance(): Message[] {
    const delivered: Message[] = [];
    for (let [next] = this.#switches; next && this.#isComplete(next); [next] = this.#switches) {
      this.#switches.shift();
      this.#current = next.channel;
      delivered.push(...(this.#waiting.get(next.channel) ?? []));
      this.#waiting.delete(next.channel);
    }
    return delivered;
  }

  #isComplete({ messages }: Switch): boolean {
    return messages === null || this.#countOf(this.#current) >= messages || this.#ended.has(this.#current);
  }

  #countOf(channel: number): number {
    return this.#received.get(channel) ?? 0;
  }
}
