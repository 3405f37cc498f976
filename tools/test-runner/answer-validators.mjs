// Answer validators: the compiled schemas of all documented responses, which every test file and node of a run loads.

import { join } from 'node:path';

import { ensureBuild } from '../builds.mjs';
import { answerValidatorsVariable, nodeModules } from '../paths.mjs';

const folder = 'node_modules/.cache/answers';
const recipe = 'test/kit/answers/write-validators.ts';

/**
 * Builds them if the operations or their schemas changed since the last build.
 * @returns {Promise<NodeJS.ProcessEnv>} variables of the test files
 */
export async function ensureAnswerValidators() {
  const file = join(nodeModules, '.cache', 'answers', 'validators.cjs');
  await ensureBuild({
    name: 'validators of responses',
    recipe,
    sources: ['api', 'node/http/openapi.ts', 'node/http/routes', 'test/kit/answers', 'package.json'],
    output: folder,
    command: [recipe, file],
    script: `node ${recipe} ${file}`,
  });
  return { [answerValidatorsVariable]: file };
}
