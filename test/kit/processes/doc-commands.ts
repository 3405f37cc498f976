// Documented commands: reads the `sh` blocks of README and docs, one command each, with continued lines joined, and code of other languages.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './command.ts';

const root = join(import.meta.dirname, '../../..');

/** @param page path of a page from the root of the repository. @param section heading of the section; the whole page if undefined */
export function docCommands(page: string, section?: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  const part = section === undefined ? text : (text.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '');
  const blocks = [...part.matchAll(/^( *)```sh\n(.*?)^ *```/gms)].map(([, , block = '']) => block);
  const lines = blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'));
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}

/** The first block of a language in a page. */
export function docCode(page: string, language: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  const [, code] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(text) ?? [];
  if (code === undefined) throw new Error(`${page} has no code in ${language}`);
  return code;
}

/** Runs one command in a shell. @returns its output. Rejects if it fails or takes longer than two and a half minutes */
export async function runShell(command: string, options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Promise<string> {
  return (await runCommand(['bash', '-o', 'pipefail', '-c', command], { ...options, timeoutMs: 150_000 })).stdout;
}
