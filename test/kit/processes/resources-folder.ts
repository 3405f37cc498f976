// Temporary resources directory with stub files, like the output of components.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

/** `files`: contents by path in the directory. */
export async function makeResources(context: TestContext, files: Record<string, string | Buffer> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-resources-'));
  // The node may still write here, because it ends after this hook: finished files move to their final folder.
  context.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
  await addFiles(folder, files);
  return folder;
}

export async function addFiles(folder: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}
