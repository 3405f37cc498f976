// A folder for one running node: nodes may share the resources directory, on one machine or on a volume of several, and even their name.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Timer } from '../../common/timer.ts';

const maxFolders = 16;
/** Says where the node runs that uses the folder; touched while it does. */
const ownerFile = 'owner';
/** How often the owner shows that it is there, in milliseconds. */
const heartbeatIntervalMs = 10_000;

/** A folder that no other process uses, until close(); also free again when the process is killed. */
export class SpoolFolder {
  readonly path: string;
  readonly #lock: Server;
  readonly #owner: string;
  #timer: Timer | undefined;

  private constructor(path: string, lock: Server) {
    this.path = path;
    this.#lock = lock;
    this.#owner = join(path, ownerFile);
    this.#show();
  }

  /** The first free one of `<base>/<name>`, `<base>/<name>-2`, ... @throws Error where there is none or it cannot be made. */
  static async take(base: string, name: string): Promise<SpoolFolder> {
    const safe = name.replaceAll(/[^\w.@-]/g, '_');
    for (let count = 1; count <= maxFolders; count += 1) {
      const path = join(base, count === 1 ? safe : `${safe}-${count}`);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      const folder = await SpoolFolder.tryTake(path);
      if (folder) return folder;
    }
    throw new Error(`All ${maxFolders} webhook spools ${join(base, safe)}* are in use`);
  }

  /** @returns undefined where a process of this machine uses it. */
  static async tryTake(path: string): Promise<SpoolFolder | undefined> {
    const lock = await tryLock(path);
    return lock && new SpoolFolder(path, lock);
  }

  /** False where a node on another machine uses it since. */
  get isOwn(): boolean {
    return spoolOwner(this.path).where === 'self';
  }

  async close(): Promise<void> {
    this.#timer?.stop();
    if (this.isOwn) rmSync(this.#owner, { force: true });
    await new Promise<void>((resolve) => this.#lock.close(() => resolve()));
  }

  #show(): void {
    try {
      writeFileSync(this.#owner, here);
    } catch {
      // A full disk: what is there is touched.
    }
    this.#touchLater();
  }

  #touchLater(): void {
    this.#timer = new Timer(heartbeatIntervalMs, () => {
      try {
        utimesSync(this.#owner, new Date(), new Date());
      } catch {
        // The disk is away; others can look no better than we can touch.
      }
      this.#touchLater();
    });
  }
}

/**
 * Who uses a folder, as far as its files say: nobody; a process that this one's lock tells of; or one elsewhere, which is there for as long
 * as `seen` changes.
 */
export function spoolOwner(path: string): { where: 'none' | 'self' } | { where: 'other'; seen: string } {
  const owner = join(path, ownerFile);
  try {
    const text = readFileSync(owner, 'utf8');
    return text === here ? { where: 'self' } : { where: 'other', seen: `${text} ${statSync(owner).mtimeMs}` };
  } catch {
    return { where: 'none' };
  }
}

/** The running kernel and its network namespace: within one, locks hold. */
const here = place();

function place(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    return randomBytes(16).toString('hex');
  }
}

/** A socket in the abstract namespace (unix(7)): bound by one process at a time, and the kernel frees it whatever ends the process. */
async function tryLock(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  // Containers may know one folder by several paths.
  const { dev, ino } = statSync(path);
  server.listen(`\0mediarooms-spool-${dev}-${ino}`);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
