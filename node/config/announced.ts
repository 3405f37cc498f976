// The addresses that clients are told for media: known at start, or in a file that is written after the pod was placed.
import { isIP } from 'node:net';
import { readFileLimited } from './read-file.ts';
import { ipOrHost } from './values.ts';
import { FileWatcher, type WatchIntervals } from './watch.ts';

const maxAddresses = 8;
const maxBytes = 4096;
const resolveTimeoutMs = 5000;

export type AnnouncedSource = { addresses: readonly string[] } | { file: string };
export type Resolve = (name: string, deadline: number) => Promise<string[]>;

/** One address per name: of the family that media listens on where there is one. */
export async function resolveAddresses(names: readonly string[], listenIp: string, resolve: Resolve): Promise<string[]> {
  const family = isIP(listenIp);
  const found = await Promise.all(
    names.map(async (name) => {
      if (isIP(name) !== 0) return name;
      const addresses = await resolve(name, resolveTimeoutMs);
      const address = addresses.find((each) => isIP(each) === family) ?? addresses[0];
      if (address === undefined) throw new Error('no address');
      return address;
    }),
  );
  return [...new Set(found)];
}

/** The announced addresses in force. With a file: none until it has content, and new ones when it changes. */
export class AnnouncedAddresses {
  readonly #source: AnnouncedSource;
  readonly #listenIp: string;
  readonly #resolve: Resolve;
  readonly #listeners = new Set<(addresses: readonly string[]) => void>();
  #watcher: FileWatcher | undefined;
  #current: readonly string[];
  #error: string | null = null;

  constructor(webrtc: { announced: AnnouncedSource; listenIp: string }, resolve: Resolve) {
    this.#source = webrtc.announced;
    this.#listenIp = webrtc.listenIp;
    this.#resolve = resolve;
    this.#current = 'addresses' in webrtc.announced ? Object.freeze([...webrtc.announced.addresses]) : [];
  }

  /** IP addresses, the first one is the address; empty until the file has content. */
  get current(): readonly string[] {
    return this.#current;
  }

  /** Whether an address is known; the node is not ready before. */
  get ready(): boolean {
    return this.#current.length > 0;
  }

  /** Why the file's content cannot be used, while the last good stays in force. A missing or empty file is none. */
  get error(): string | null {
    return this.#error;
  }

  /** Calls the listener after each change; ends with the returned function. */
  onChange(listener: (addresses: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the file now and whenever it changes, until close(). Without a file it does nothing. */
  async watch(times?: WatchIntervals): Promise<void> {
    if (!('file' in this.#source) || this.#watcher) return;
    const { file } = this.#source;
    this.#watcher = new FileWatcher([file], () => this.#read(file), times);
    await this.#read(file);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#watcher?.close();
  }

  async #read(file: string): Promise<void> {
    const bytes = await readFileLimited(file, maxBytes).catch(() => undefined);
    const words = (bytes?.toString('utf8') ?? '').split(/\s+/).filter((word) => word !== '');
    if (words.length === 0) return;
    if (words.length > maxAddresses || words.some((word) => !ipOrHost.safeParse(word).success)) {
      this.#error = `Expected ${file} to hold at most ${maxAddresses} IP addresses or host names, separated by spaces`;
      return;
    }
    try {
      this.#take(await resolveAddresses(words, this.#listenIp, this.#resolve));
    } catch {
      this.#error = `Expected the host names in ${file} to be known to DNS`;
    }
  }

  #take(addresses: string[]): void {
    this.#error = null;
    if (addresses.join(' ') === this.#current.join(' ')) return;
    this.#current = Object.freeze(addresses);
    for (const listener of this.#listeners) listener(this.#current);
  }
}
