// A disk that is full soon: a tmpfs of a given size, gone with the test.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** `size` as mount(8) takes it, e.g. `64k`. Where none can be mounted the test is skipped, and there is no path. */
export function smallDisk(t: TestContext, size: string): string | undefined {
  if (process.getuid?.() !== 0) {
    t.skip('mounting a tmpfs needs root');
    return undefined;
  }
  const path = mkdtempSync(join(tmpdir(), 'mediarooms-full-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (error) {
    rmSync(path, { recursive: true });
    t.skip(`a tmpfs cannot be mounted here: ${String(error)}`);
    return undefined;
  }
  t.after(() => {
    execFileSync('umount', ['-l', path]);
    // Who has it may still write there, since that is ended later: below is a folder like any other.
    rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return path;
}

/** Takes what is free there, with a file of this name. */
export function fillDisk(path: string, name: string): void {
  execFileSync('sh', ['-c', `dd if=/dev/zero of=${join(path, name)} bs=1k 2>/dev/null || true`]);
}
