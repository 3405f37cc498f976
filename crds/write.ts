// `npm run crds`: writes crds/*.yaml from the definitions.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { definitions } from './definitions.ts';

/** The file's text. */
export function asYaml(definition: object): string {
  return `# Made by \`npm run crds\` from crds/*.ts: do not edit.\n${stringify(definition, { lineWidth: 140, aliasDuplicateObjects: false })}`;
}

if (import.meta.main)
  for (const [file, definition] of Object.entries(definitions)) writeFileSync(join(import.meta.dirname, file), asYaml(definition));
