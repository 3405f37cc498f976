// `npm run crds`: writes crds/*.yaml and docs/resources.md from the definitions.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { definitions } from './definitions.ts';
import { resourcesDocument } from './reference.ts';

/** The file's text. */
export function asYaml(definition: object): string {
  return `# Made by \`npm run crds\` from crds/*.ts: do not edit.\n${stringify(definition, { lineWidth: 140, aliasDuplicateObjects: false })}`;
}

/** Every file that is made, by its path from the root. */
export const madeFiles: Record<string, string> = {
  ...Object.fromEntries(Object.entries(definitions).map(([file, definition]) => [`crds/${file}`, asYaml(definition)])),
  'docs/resources.md': resourcesDocument(),
};

if (import.meta.main) for (const [path, text] of Object.entries(madeFiles)) writeFileSync(join(import.meta.dirname, '..', path), text);
