// Pending requests: those to repeat when a session is resumed, and those to reject when it is lost.
import { RequestError, SessionLostError } from './errors.ts';
import { type Method, maxMessageBytes, type RequestFrame, type ResponseFrame } from './generated/protocol.ts';

/** Maximum number of pending requests. */
const maxPending = 1_000;

type Pending = {
  frame: RequestFrame;
  text: string;
  sent: boolean;
  /** Valid in any session: an unsent request may be sent in the next one. */
  portable: boolean;
  resolve: (data: never) => void;
  reject: (error: Error) => void;
};

export class PendingRequests {
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  /** An id for a frame that is not stored, for example a ping. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Stores a request until its response. @throws RequestError if it is too large or too many are pending */
  add<Answer>(method: Method, data: object, portable: boolean): { id: number; answer: Promise<Answer> } {
    const frame: RequestFrame = { id: this.nextId(), method, data: { ...data } };
    const text = JSON.stringify(frame);
    if (text.length * 3 > maxMessageBytes && new TextEncoder().encode(text).length > maxMessageBytes) {
      throw new RequestError('too_large', `A message may have at most ${maxMessageBytes} bytes`);
    }
    if (this.#pending.size >= maxPending) throw new RequestError('too_many_requests', 'Too many pending requests');
    const { promise, resolve, reject } = deferred<Answer>();
    this.#pending.set(frame.id, { frame, text, sent: false, portable, resolve, reject });
    return { id: frame.id, answer: promise };
  }

  send(id: number, send: (text: string) => void): void {
    const request = this.#pending.get(id);
    if (!request) return;
    request.sent = true;
    send(request.text);
  }

  settle(answer: ResponseFrame): void {
    const request = this.#pending.get(answer.id);
    if (!request) return;
    this.#pending.delete(answer.id);
    if (answer.ok) request.resolve(answer.data as never);
    else request.reject(new RequestError(answer.error.code, answer.error.message));
  }

  /** Sends requests that the server has not received, in order. */
  repeat(lastRequest: number, send: (text: string) => void): void {
    for (const id of this.#ids()) if (id > lastRequest) this.send(id, send);
  }

  /** The session was lost: only unsent portable requests stay. */
  sessionLost(): void {
    for (const id of this.#ids()) {
      const request = this.#pending.get(id);
      if (!request || (request.portable && !request.sent)) continue;
      this.#pending.delete(id);
      request.reject(new SessionLostError());
    }
  }

  /** No more responses will arrive. */
  fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  #ids(): number[] {
    return [...this.#pending.keys()].sort((a, b) => a - b);
  }
}

export type Deferred<T> = { promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void };

/**
 * Ignores a lost session, because the next join contains the state. `refused`: undoes the state, because the next join would be rejected
 * too.
 */
export async function stateful(request: Promise<unknown>, refused: () => void): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (error instanceof SessionLostError) return;
    refused();
    throw error;
  }
}

/** Promise.withResolvers, for browsers before 2024. */
export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
