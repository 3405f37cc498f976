// `npm run crds`: writes crds/*.yaml, docs/reference/resources.md, and the schema and the page of the chart's values.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { chartRows, chartSchema } from './chart-values.ts';
import { definitions } from './definitions.ts';
import { resourcesDocument } from './reference.ts';

/** The file's text. */
export function asYaml(definition: object): string {
  return `# Made by \`npm run crds\` from crds/*.ts: do not edit.\n${stringify(definition, { lineWidth: 140, aliasDuplicateObjects: false })}`;
}

const root = join(import.meta.dirname, '..');

function chartDocument(): string {
  const defaults = parse(readFileSync(join(root, 'helm/values.yaml'), 'utf8'));
  return `# Values of the chart

Made by \`npm run crds\` from crds/chart-values.ts and helm/values.yaml: do not edit. \`helm install\` refuses unknown names and wrong values. With none set it
installs the operator and one MediaCluster of two nodes; everything else is made by the operator.

| value | default | meaning |
|---|---|---|
${chartRows(defaults).join('\n')}
`;
}

/** Every file that is made, by its path from the root. */
export const madeFiles: Record<string, string> = {
  ...Object.fromEntries(Object.entries(definitions).map(([file, definition]) => [`crds/${file}`, asYaml(definition)])),
  'docs/reference/resources.md': resourcesDocument(),
  'docs/reference/chart.md': chartDocument(),
  'helm/values.schema.json': `${JSON.stringify(chartSchema(), null, 2)}\n`,
};

if (import.meta.main) for (const [path, text] of Object.entries(madeFiles)) writeFileSync(join(root, path), text);
