// HLS load generator: viewers that wait for the playlist of the next part and load new parts over one keep-alive connection each.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type ViewersOptions = {
  url: string;
  count: number;
  /** Path of the folder of the stream. */
  folder: string;
  /** Query parameters of a viewer, its token. */
  query: (viewer: number) => string;
  /** Time at which the newest part of a segment became available, in milliseconds since 1970; if undefined, a header contains it. */
  availableAt?: (segment: number) => number;
};

export type ViewersResult = {
  requestsPerSecond: number;
  bytesPerSecond: number;
  /** Milliseconds from the availability of a part to the end of each response that waited for it. */
  delays: number[];
  /** Average size of bodies in bytes. */
  playlistBytes: number;
  partBytes: number;
  /** Number of parts that late viewers skipped. */
  missed: number;
};

type Position = { segment: number; part: number };
type Counts = { delays: number[]; playlists: number; playlistBytes: number; parts: number; partBytes: number; missed: number };

/** Number of parts that a viewer may be late before it skips to the newest. */
const timeoutSeconds = 12;
const blank = (): Counts => ({ delays: [], playlists: 0, playlistBytes: 0, parts: 0, partBytes: 0, missed: 0 });
const wallClock = () => performance.timeOrigin + performance.now();

/** An additional client parses the playlists, so that viewers need not: all share its result. */
export class Viewers {
  readonly options: ViewersOptions;
  readonly #connections: Connection[] = [];
  readonly #available = new Map<number, number>();
  /** Viewers that received a playlist before the reader. */
  #ahead: (() => void)[] = [];
  /** Parts in order of arrival. */
  readonly parts: Position[] = [];
  /** Position of the next part. */
  next: Position = { segment: 0, part: 0 };
  counts = blank();
  #failure: Error | undefined;

  constructor(options: ViewersOptions) {
    this.options = options;
  }

  /** Resolves when all viewers have started. */
  async start(): Promise<void> {
    await this.#read();
    for (let number = 0; number < this.options.count; number += 1) {
      const viewer = new Viewer(this, await this.open(), this.options.query(number));
      viewer.begin();
    }
  }

  /** Measures for this time in milliseconds. @throws Error if a viewer received an unexpected response */
  async measure(time: number): Promise<ViewersResult> {
    this.counts = blank();
    const start = performance.now();
    await sleep(time);
    if (this.#failure) throw this.#failure;
    const elapsed = (performance.now() - start) / 1000;
    const { delays, missed, playlists, playlistBytes, parts, partBytes } = this.counts;
    return {
      delays,
      missed,
      requestsPerSecond: (playlists + parts) / elapsed,
      bytesPerSecond: (playlistBytes + partBytes) / elapsed,
      playlistBytes: Math.round(playlistBytes / playlists),
      partBytes: Math.round(partBytes / parts),
    };
  }

  stop(): void {
    for (const connection of this.#connections) connection.end();
  }

  async open(): Promise<Connection> {
    const connection = new Connection(this.options, (error) => {
      this.#failure ??= error;
      this.stop();
    });
    this.#connections.push(connection);
    await connection.opened;
    return connection;
  }

  playlist(query: string, { segment, part }: Position): string {
    return `${this.options.folder}/stream.m3u8?_HLS_msn=${segment}&_HLS_part=${part}&${query}`;
  }

  /** Calls back when the part of this number is known. */
  whenKnown(index: number, call: () => void): void {
    if (index < this.parts.length) call();
    else this.#ahead.push(call);
  }

  /** Time at which the part of this number became available; `said`: according to the server. */
  availableAt(index: number, said: number | undefined): number {
    const segment = this.parts[index]?.segment ?? 0;
    const known = this.#available.get(index) ?? said ?? this.options.availableAt?.(segment) ?? Number.NaN;
    this.#available.set(index, known);
    return known;
  }

  async #read(): Promise<void> {
    const connection = await this.open();
    const query = this.options.query(0);
    const first = Promise.withResolvers<void>();
    const take = (text: string) => {
      this.#learn(text);
      first.resolve();
      connection.get(this.playlist(query, this.next), { encoding: 'identity', done: ({ text: next }) => take(next) });
    };
    const path = `${this.options.folder}/stream.m3u8?${query}`;
    connection.get(path, { encoding: 'identity', done: ({ text }) => take(text) });
    await first.promise;
  }

  #learn(text: string): void {
    const last = this.parts.at(-1) ?? { segment: -1, part: -1 };
    for (const [, whole, segment, part] of text.matchAll(/^(?:#EXTINF:.*\n.*segment-(\d+)|#EXT-X-PART:.*URI="part-(\d+)\.(\d+))\.m4s/gm)) {
      if (whole !== undefined) this.next = { segment: Number(whole) + 1, part: 0 };
      else {
        const position = { segment: Number(segment), part: Number(part) };
        this.next = { segment: position.segment, part: position.part + 1 };
        const isNew = position.segment > last.segment || (position.segment === last.segment && position.part > last.part);
        if (isNew) this.parts.push(position);
      }
    }
    const ahead = this.#ahead;
    this.#ahead = [];
    for (const call of ahead) call();
  }
}

class Viewer {
  readonly #viewers: Viewers;
  readonly #connection: Connection;
  readonly #query: string;
  /** Number of the part that it waits for or loads. */
  #index = 0;

  constructor(viewers: Viewers, connection: Connection, query: string) {
    this.#viewers = viewers;
    this.#connection = connection;
    this.#query = query;
  }

  begin(): void {
    this.#index = this.#viewers.parts.length;
    this.#wait();
  }

  #wait(): void {
    const { parts, next } = this.#viewers;
    const path = this.#viewers.playlist(`_HLS_skip=YES&${this.#query}`, parts[this.#index] ?? next);
    this.#connection.get(path, {
      encoding: 'gzip, deflate, br',
      done: ({ length, said }) => {
        const { counts } = this.#viewers;
        counts.playlists += 1;
        counts.playlistBytes += length;
        const now = wallClock();
        this.#viewers.whenKnown(this.#index, () => {
          counts.delays.push(now - this.#viewers.availableAt(this.#index, said));
          const late = this.#viewers.parts.length - 1 - this.#index;
          if (late > timeoutSeconds) {
            counts.missed += late;
            this.#index += late;
          }
          this.#load();
        });
      },
    });
  }

  #load(): void {
    const position = this.#viewers.parts[this.#index];
    if (!position) {
      this.#wait();
      return;
    }
    const path = `${this.#viewers.options.folder}/part-${position.segment}.${position.part}.m4s?${this.#query}`;
    this.#connection.get(path, {
      encoding: 'identity',
      done: ({ length }) => {
        this.#viewers.counts.parts += 1;
        this.#viewers.counts.partBytes += length;
        this.#index += 1;
        this.#load();
      },
    });
  }
}

/** `text`: only for uncompressed text; `said`: the header x-available-at. */
type Received = { length: number; text: string; said: number | undefined };
type Asked = { encoding: string; done: (received: Received) => void };

/** Shared by all connections, because received bytes are discarded at once. */
const readBuffer = Buffer.alloc(256 * 1024);

/** Minimal HTTP client: the client of Node.js would use several times the CPU of the measured server. */
class Connection {
  readonly opened: Promise<void>;
  readonly #socket: Socket;
  readonly #fail: (error: Error) => void;
  #path = '';
  #asked: Asked | undefined;
  #head = '';
  #received: Received = { length: 0, text: '', said: undefined };
  #isText = false;
  /** Remaining bytes of the body; negative while the head is read. */
  #left = -1;

  constructor({ url }: Pick<ViewersOptions, 'url'>, fail: (error: Error) => void) {
    const { hostname: host, port } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.opened = promise;
    this.#fail = (error) => {
      reject(error);
      fail(error);
    };
    const onread = { buffer: readBuffer, callback: (size: number) => this.#take(size) };
    this.#socket = connect({ host, port: Number(port), noDelay: true, onread }, resolve);
    this.#socket.once('error', this.#fail);
  }

  get(path: string, asked: Asked): void {
    this.#path = path;
    this.#asked = asked;
    const head = ['host: 127.0.0.1', 'accept: */*', `accept-encoding: ${asked.encoding}`, 'user-agent: bench', 'connection: keep-alive'];
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(size: number): boolean {
    let from = 0;
    if (this.#left < 0) {
      this.#head += readBuffer.toString('latin1', 0, size);
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return true;
      from = size - (this.#head.length - end - 4);
      this.#readHead(this.#head.slice(0, end + 2));
      this.#head = '';
    }
    if (this.#isText) this.#received.text += readBuffer.toString('latin1', from, size);
    this.#left -= size - from;
    if (this.#left === 0) {
      this.#left = -1;
      this.#asked?.done(this.#received);
    }
    return true;
  }

  #readHead(head: string): void {
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
    if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) this.#fail(new Error(`unexpected response for ${this.#path}: ${head}`));
    const said = /\r\nx-available-at: (\d+)\r\n/i.exec(head)?.[1];
    this.#left = Number(length);
    this.#isText = this.#path.includes('.m3u8') && this.#asked?.encoding === 'identity';
    this.#received = { length: this.#left, text: '', said: said === undefined ? undefined : Number(said) };
  }
}
