// Minimal peer websocket for the smoke test: authenticates and creates a transport.
import { z } from 'zod';
import { parseJson } from '../json.ts';

const maxFrame = 1024 * 1024;
const answerSchema = z.object({
  id: z.int(),
  ok: z.boolean(),
  error: z.object({ message: z.string().max(4096) }).optional(),
  data: z.unknown().optional(),
});
const text = z.string().min(1).max(256);
const transportSchema = z.object({
  iceParameters: z.object({ usernameFragment: text, password: text }),
  iceCandidates: z
    .array(z.object({ ip: text, port: z.int().min(1).max(65_535), protocol: z.enum(['udp', 'tcp']) }))
    .min(1)
    .max(64),
});
export type Transport = z.output<typeof transportSchema>;

export class PeerSession {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (frame: unknown) => void>();
  readonly #ended = Promise.withResolvers<never>();
  #lastId = 0;

  private constructor(url: string, timeoutMs: number) {
    this.#socket = new WebSocket(url);
    const timer = setTimeout(() => this.#end(`it took longer than ${timeoutMs / 1000} s`), timeoutMs);
    this.#socket.addEventListener('message', ({ data }) => this.#receive(data));
    this.#socket.addEventListener('error', () => this.#end('it could not be reached'));
    this.#socket.addEventListener('close', ({ code }) => this.#end(`it was closed with ${code}`));
    this.#ended.promise.catch(() => clearTimeout(timer));
  }

  /** Resolves when authenticated. `timeoutMs`: for the whole session. @throws Error with a message */
  static async open(url: string, token: string, timeoutMs: number): Promise<PeerSession> {
    const session = new PeerSession(url, timeoutMs);
    const opened = new Promise<void>((resolve) => session.#socket.addEventListener('open', () => resolve(), { once: true }));
    try {
      await Promise.race([opened, session.#ended.promise]);
      await session.#request('authenticate', { token });
    } catch (error) {
      session.close();
      throw error;
    }
    return session;
  }

  /** @throws Error with a message */
  async transport(): Promise<Transport> {
    const parsed = transportSchema.safeParse(await this.#request('createTransport', { direction: 'send', sctp: false }));
    if (!parsed.success) throw new Error('The node returned an invalid response to createTransport.');
    return parsed.data;
  }

  /** Idempotent. */
  close(): void {
    this.#end('it was closed');
    this.#socket.close();
  }

  async #request(method: string, data: unknown): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, data }));
    const answer = answerSchema.parse(await Promise.race([answered, this.#ended.promise]));
    if (!answer.ok) throw new Error(`The node rejected ${method}: ${answer.error?.message ?? 'no reason given'}`);
    return answer.data;
  }

  #receive(data: unknown): void {
    if (typeof data !== 'string' || data.length > maxFrame) {
      this.#end('a frame was too long or not text');
      return;
    }
    const frame = parseJson(data);
    // Events and responses to other requests are ignored.
    const parsed = answerSchema.safeParse(frame);
    if (!parsed.success) return;
    this.#waiting.get(parsed.data.id)?.(frame);
    this.#waiting.delete(parsed.data.id);
  }

  #end(why: string): void {
    this.#ended.reject(new Error(`The websocket of the peer failed: ${why}.`));
  }
}
