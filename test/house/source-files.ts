// Source files of the project and their imports, for the house rules.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');
const skipped = new Set(['node_modules', 'dist', '.git', '.cache', 'svc_resources', 'coverage']);

export type SourceFile = {
  /** Relative to the root, with `/`. */
  path: string;
  text: string;
  /** Imported project files (relative to the root) and packages (`mediasoup`, `node:fs`), including re-exports. */
  imports: string[];
};

export function sourceFiles(
  folders: readonly string[] = ['api', 'node', 'packages', 'operator', 'crds', 'tracing', 'tools', 'test'],
): SourceFile[] {
  return folders.flatMap((folder) => walk(join(root, folder))).map(read);
}

function walk(folder: string): string[] {
  let entries: ReturnType<typeof readDirectory>;
  try {
    entries = readDirectory(folder);
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return walk(path);
    return /\.(ts|tsx|mjs)$/.test(entry.name) ? [path] : [];
  });
}

function readDirectory(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}

function read(file: string): SourceFile {
  const text = readFileSync(file, 'utf8');
  return {
    path: relative(root, file),
    text,
    imports: importsOf(text).map((name) => (name.startsWith('.') ? relative(root, resolve(dirname(file), name)) : name)),
  };
}

/** Static and dynamic imports, including `import type` and re-exports. */
export function importsOf(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const pattern =
    /(?:^|[\s;}])(?:import|export)\s[^'";]*?from\s*['"]([^'"]+)['"]|(?:^|[\s;])import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
  return [...code.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}
