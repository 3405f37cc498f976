// Spool folder: exclusive to one running node. Nodes may share the resources directory on a host or a network volume, and even their name.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Timer } from '../../common/timer.ts';

const maxFolders = 16;
/** Identifies the host of the node that uses the folder. Its modification time is the heartbeat. */
const ownerFile = 'owner';
/** Heartbeat interval of the owner in milliseconds. */
const heartbeatIntervalMs = 10_000;

/** A folder locked until close(), or until the process is killed. */
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

  /** The first free folder of `<base>/<name>`, `<base>/<name>-2`, ... @throws Error if none is free or it cannot be created. */
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

  /** @returns undefined if a process on this host uses it. */
  static async tryTake(path: string): Promise<SpoolFolder | undefined> {
    const lock = await tryLock(path);
    return lock && new SpoolFolder(path, lock);
  }

  /** False if a node on another host has taken it over. */
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
      // On a full disk an existing file can still be touched.
    }
    this.#touchLater();
  }

  #touchLater(): void {
    this.#timer = new Timer(heartbeatIntervalMs, () => {
      try {
        utimesSync(this.#owner, new Date(), new Date());
      } catch {
        // The disk is unavailable. Other nodes cannot check the heartbeat either.
      }
      this.#touchLater();
    });
  }
}

/**
 * The owner of a folder according to its files: none; a process on this host, which the lock decides; or one on another host, which is
 * alive as long as `seen` changes.
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

/** The running kernel and its network namespace, within which locks work. */
const here = place();

function place(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    return randomBytes(16).toString('hex');
  }
}

/** A socket in the abstract namespace (unix(7)) can be bound by one process at a time, and the kernel releases it with the process. */
async function tryLock(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  // Containers may mount one folder at several paths.
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
