// The bundled operator that the Kubernetes tests run: as in its image, and it starts in half the time of its sources.

import { join } from 'node:path';

import { ensureBuild } from './builds.mjs';
import { root } from './paths.mjs';

export const operatorProgram = join(root, 'operator', 'dist', 'operator.mjs');

/** Builds it if its sources changed since the last build. */
export async function ensureOperator() {
  const recipe = 'tools/images/build-operator.mjs';
  await ensureBuild({
    name: 'the operator',
    recipe,
    sources: ['operator', 'api', 'crds', 'tracing', 'package.json', recipe],
    output: 'operator/dist',
    command: [recipe],
    script: `node ${recipe}`,
  });
}
