// Viewers of a live stream as players are: each waits for the playlist of the next part and loads what is new, over one kept connection.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type ViewersOptions = {
  url: string;
  count: number;
  /** Path of the folder of the stream. */
  folder: string;
  /** Query parameters of a viewer, its token. */
  query: (viewer: number) => string;
  partsPerSegment: number;
  /** Milliseconds since 1970 at which the part could be loaded, asked when the first viewer knows of it; else a header says it. */
  availableAt?: (segment: number, part: number) => number;
};

export type ViewersResult = {
  requestsPerSecond: number;
  bytesPerSecond: number;
  /** Milliseconds from when a part was there to the end of each answer that waited for it. */
  delays: number[];
  /** Bytes of bodies, on average. */
  playlistBytes: number;
  partBytes: number;
  /** Parts that came together with others, since their viewer was late. */
  late: number;
};

type Position = { segment: number; part: number };
type Counts = Omit<ViewersResult, 'requestsPerSecond' | 'bytesPerSecond'> & { playlists: number; parts: number; bytes: number };

/** What is read is looked at and forgotten at once: all connections share it. */
const readBuffer = Buffer.alloc(256 * 1024);
const blank = (): Counts => ({ delays: [], playlistBytes: 0, partBytes: 0, late: 0, playlists: 0, parts: 0, bytes: 0 });

export class Viewers {
  readonly options: ViewersOptions;
  readonly #viewers: Viewer[] = [];
  readonly #available = new Map<number, number>();
  latest: Position = { segment: 0, part: 0 };
  counts = blank();
  failure: Error | undefined;

  constructor(options: ViewersOptions) {
    this.options = options;
  }

  /** All are watching when it resolves. */
  async start(): Promise<void> {
    await this.#add(true);
    for (let index = 1; index < this.options.count; index += 1) await this.#add(false);
  }

  /** Milliseconds. @throws Error where a viewer got something else than what it asked for */
  async measure(time: number): Promise<ViewersResult> {
    this.counts = blank();
    const start = performance.now();
    await sleep(time);
    if (this.failure) throw this.failure;
    const elapsed = (performance.now() - start) / 1000;
    const { playlists, parts, bytes, ...counts } = this.counts;
    return {
      ...counts,
      requestsPerSecond: (playlists + parts) / elapsed,
      bytesPerSecond: bytes / elapsed,
      playlistBytes: Math.round(counts.playlistBytes / playlists),
      partBytes: Math.round(counts.partBytes / parts),
    };
  }

  stop(): void {
    for (const viewer of this.#viewers) viewer.stop();
  }

  indexOf({ segment, part }: Position): number {
    return segment * this.options.partsPerSegment + part;
  }

  at(index: number): Position {
    const { partsPerSegment } = this.options;
    return { segment: Math.floor(index / partsPerSegment), part: index % partsPerSegment };
  }

  /** When the part could be loaded; `said` by the server. */
  availableAt(position: Position, said: number | undefined): number {
    const index = this.indexOf(position);
    const known = this.#available.get(index) ?? said ?? this.options.availableAt?.(position.segment, position.part) ?? Number.NaN;
    this.#available.set(index, known);
    return known;
  }

  async #add(leads: boolean): Promise<void> {
    const viewer = new Viewer(this, this.#viewers.length, leads);
    this.#viewers.push(viewer);
    await viewer.begin();
  }
}

/** The first one, which leads, reads the playlists, so that the others need not: they are told what is in them. */
class Viewer {
  readonly #viewers: Viewers;
  readonly #query: string;
  readonly #leads: boolean;
  readonly #begun = Promise.withResolvers<void>();
  #socket: Socket | undefined;
  /** What waits for its answer: a playlist, or a part. */
  #asked: { position: Position; playlist: boolean; waits: boolean } = { position: { segment: 0, part: 0 }, playlist: true, waits: false };
  #next = 0;
  #until = 0;
  #head = '';
  #text = '';
  /** Bytes of the body that are still to come; negative while its head is read. */
  #left = -1;
  #length = 0;
  #said: number | undefined;

  constructor(viewers: Viewers, number: number, leads: boolean) {
    this.#viewers = viewers;
    this.#query = viewers.options.query(number);
    this.#leads = leads;
  }

  async begin(): Promise<void> {
    const { hostname: host, port } = new URL(this.#viewers.options.url);
    const onread = { buffer: readBuffer, callback: (size: number) => this.#take(size) };
    this.#socket = connect({ host, port: Number(port), noDelay: true, onread });
    this.#socket.once('error', (error) => this.#fail(error));
    this.#socket.once('connect', () => {
      if (this.#leads) this.#get('stream.m3u8', { position: { segment: 0, part: 0 }, playlist: true, waits: false });
      else this.#wait(this.#viewers.indexOf(this.#viewers.latest) + 1);
      if (!this.#leads) this.#begun.resolve();
    });
    await this.#begun.promise;
  }

  stop(): void {
    this.#socket?.destroy();
  }

  #wait(index: number): void {
    this.#next = index;
    const position = this.#viewers.at(index);
    const query = `_HLS_msn=${position.segment}&_HLS_part=${position.part}${this.#leads ? '' : '&_HLS_skip=YES'}`;
    this.#get('stream.m3u8', { position, playlist: true, waits: true }, query);
  }

  #get(file: string, asked: { position: Position; playlist: boolean; waits: boolean }, query = ''): void {
    this.#asked = asked;
    const { folder } = this.#viewers.options;
    const path = `${folder}/${file}?${query}${query && this.#query ? '&' : ''}${this.#query}`;
    const encoding = this.#leads ? 'identity' : 'gzip, deflate, br';
    this.#socket?.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\naccept-encoding: ${encoding}\r\nuser-agent: bench\r\nconnection: keep-alive\r\n\r\n`,
    );
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
    if (this.#leads && this.#asked.playlist) this.#text += readBuffer.toString('latin1', from, size);
    this.#left -= size - from;
    if (this.#left === 0) {
      this.#left = -1;
      this.#answered();
    }
    return true;
  }

  #readHead(head: string): void {
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1];
    if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) this.#fail(new Error(`a viewer got ${head}`));
    this.#length = Number(length);
    this.#left = this.#length;
    const said = this.#asked.playlist ? /\r\nx-available-at: (\d+)\r\n/i.exec(head)?.[1] : undefined;
    this.#said = said === undefined ? undefined : Number(said);
  }

  #answered(): void {
    const { counts } = this.#viewers;
    const { position, playlist, waits } = this.#asked;
    counts.bytes += this.#length;
    if (!playlist) {
      counts.parts += 1;
      counts.partBytes += this.#length;
      if (this.#next <= this.#until) this.#load();
      else this.#wait(this.#next);
      return;
    }
    counts.playlists += 1;
    counts.playlistBytes += this.#length;
    if (this.#leads) this.#lead();
    const { latest } = this.#viewers;
    if (!waits) {
      this.#begun.resolve();
      this.#wait(this.#viewers.indexOf(latest) + 1);
      return;
    }
    const now = performance.timeOrigin + performance.now();
    counts.delays.push(now - this.#viewers.availableAt(position, this.#said));
    this.#until = Math.max(this.#next, this.#viewers.indexOf(latest));
    counts.late += this.#until - this.#next;
    this.#load();
  }

  #load(): void {
    const position = this.#viewers.at(this.#next);
    this.#next += 1;
    this.#get(`part-${position.segment}.${position.part}.m4s`, { position, playlist: false, waits: false });
  }

  #lead(): void {
    const [, segment, part] = [...this.#text.matchAll(/^#EXT-X-PART:.*URI="[^"]*part-(\d+)\.(\d+)\.m4s/gm)].at(-1) ?? [];
    this.#text = '';
    if (Number(part) >= this.#viewers.options.partsPerSegment) this.#fail(new Error(`part ${part} is not expected`));
    if (segment !== undefined && part !== undefined) this.#viewers.latest = { segment: Number(segment), part: Number(part) };
  }

  #fail(error: Error): void {
    this.#viewers.failure ??= error;
    this.#begun.reject(error);
    this.stop();
  }
}
