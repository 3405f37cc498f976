// Temporary folder of a test.
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './kube/scope.ts';

/** @returns its path. It is deleted at the end, with retries because a node that ends after this hook may still write there. */
export function tempFolder(scope: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-test-'));
  scope.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  return folder;
}
