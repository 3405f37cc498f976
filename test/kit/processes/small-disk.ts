// Small disk: a tmpfs of a given size, unmounted with the test.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** `size` in the format of mount(8), for example `64k`. Skips the test and returns no path if mounting is not possible. */
export function smallDisk(t: TestContext, size: string): string | undefined {
  if (process.getuid?.() !== 0) {
    t.skip('mounting a tmpfs requires root');
    return undefined;
  }
  const path = mkdtempSync(join(tmpdir(), 'mediarooms-full-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (error) {
    rmSync(path, { recursive: true });
    t.skip(`could not mount a tmpfs: ${String(error)}`);
    return undefined;
  }
  t.after(() => {
    execFileSync('umount', ['-l', path]);
    // A node that ends later may still write: it then uses the plain folder below the mount.
    rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return path;
}

/** Fills the free space with a file of this name. */
export function fillDisk(path: string, name: string): void {
  execFileSync('sh', ['-c', `dd if=/dev/zero of=${join(path, name)} bs=1k 2>/dev/null || true`]);
}
