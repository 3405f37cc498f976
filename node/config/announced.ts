// Announced addresses for media: known at start, or read from a file that is written after the pod was scheduled.
import { isIP } from 'node:net';
import { ipOrHost } from '../../api/settings/values.ts';
import { readFileLimited } from './read-file.ts';
import { FileWatcher, type WatchIntervals } from './watch.ts';

const maxAddresses = 8;
const maxBytes = 4096;
const resolveTimeoutMs = 5000;

export type AnnouncedSource = { addresses: readonly string[] } | { file: string };
export type Resolve = (name: string, deadline: number) => Promise<string[]>;

/** One address per name, preferably of the family of the listen address. */
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

/** The current announced addresses. With a file: none until it has content, and updated when it changes. */
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

  /** IP addresses, the primary one first; empty until the file has content. */
  get current(): readonly string[] {
    return this.#current;
  }

  /** True if an address is known. The node is not ready before. */
  get ready(): boolean {
    return this.#current.length > 0;
  }

  /** Why the content of the file is invalid, while the last valid one stays in effect. A missing or empty file is no error. */
  get error(): string | null {
    return this.#error;
  }

  /** Calls the listener after each change. Returns a function that unsubscribes. */
  onChange(listener: (addresses: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the file now and after every change, until close(). Without a file it does nothing. */
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
      this.#error = `Expected DNS to resolve the host names in ${file}`;
    }
  }

  #take(addresses: string[]): void {
    this.#error = null;
    if (addresses.join(' ') === this.#current.join(' ')) return;
    this.#current = Object.freeze(addresses);
    for (const listener of this.#listeners) listener(this.#current);
  }
}
