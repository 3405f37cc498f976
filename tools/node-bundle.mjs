// The bundled node that tests start as a process: the same modules as its sources, but it starts in little more than half of
// their time. A test run starts several hundred nodes.

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureBuild } from './builds.mjs';
import { bundle, pathsOf } from './images/build-node.mjs';
import { bundledNodeVariable, root } from './paths.mjs';

const folder = 'node_modules/.cache/node';
const bundled = process.env[bundledNodeVariable];
const recipe = 'tools/node-bundle.mjs';

/** The node, and what it imports first in tests: both use the same modules. */
const entries = ['node/main.ts', 'test/kit/processes/report-answers.ts'];
/** The sources, if the tests were not started by `npm test`. */
export const nodeProgram = bundled ? join(bundled, 'main.mjs') : join(root, 'node/main.ts');
/** Flag that lets a node report its responses, to compare them with openapi.json. */
export const reportAnswers = `--import=${bundled ? join(bundled, 'report-answers.mjs') : join(root, 'test/kit/processes/report-answers.ts')}`;

/**
 * Builds it if its sources changed since the last build.
 * @returns {Promise<NodeJS.ProcessEnv>} variables of the test files
 */
export async function ensureNode() {
  await ensureBuild({
    name: 'the node for tests',
    recipe,
    sources: [
      'node',
      'api',
      'tracing',
      'test/kit/answers',
      ...entries,
      'tools/paths.mjs',
      'package.json',
      recipe,
      'tools/images/build-node.mjs',
    ],
    output: folder,
    command: [recipe],
    script: `node ${recipe}`,
  });
  return { [bundledNodeVariable]: join(root, folder) };
}

async function write() {
  // Chunks have new names.
  rmSync(join(root, folder), { recursive: true, force: true });
  await bundle({
    entryPoints: entries,
    entryNames: '[name]',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    plugins: [pathsOf((source) => source)],
  });
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? '')).href) await write();
