// Temporary resources directory with stub files, like the output of components.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Scope } from '../kube/scope.ts';
import { tempFolder } from '../temp-folder.ts';

/** `files`: contents by path in the directory. */
export async function makeResources(scope: Scope, files: Record<string, string | Buffer> = {}): Promise<string> {
  const folder = tempFolder(scope);
  await addFiles(folder, files);
  return folder;
}

export async function addFiles(folder: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}
