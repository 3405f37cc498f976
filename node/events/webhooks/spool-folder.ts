// A folder for one running node: two nodes on a machine may share the resources directory, and even their name.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, realpathSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';

const maxFolders = 16;

/** A folder that no other process on this machine uses, until close(); also free again when the process is killed. */
export class SpoolFolder {
  readonly path: string;
  readonly #lock: Server;

  private constructor(path: string, lock: Server) {
    this.path = path;
    this.#lock = lock;
  }

  /** The first free one of `<base>/<name>`, `<base>/<name>-2`, ... @throws Error where there is none or it cannot be made. */
  static async take(base: string, name: string): Promise<SpoolFolder> {
    const safe = name.replaceAll(/[^\w.@-]/g, '_');
    for (let count = 1; count <= maxFolders; count += 1) {
      const path = join(base, count === 1 ? safe : `${safe}-${count}`);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      const lock = await tryLock(realpathSync(path));
      if (lock) return new SpoolFolder(path, lock);
    }
    throw new Error(`All ${maxFolders} webhook spools ${join(base, safe)}* are in use`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#lock.close(() => resolve()));
  }
}

/** A socket in the abstract namespace (unix(7)): bound by one process at a time, and the kernel frees it whatever ends the process. */
async function tryLock(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).unref();
  server.listen(`\0mediarooms-spool-${createHash('sha256').update(path).digest('hex')}`);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
