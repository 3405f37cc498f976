// The bundled node that tests start as a process: the same modules as its sources, but it starts in little more than half of
// their time. A test run starts several hundred nodes.

import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureBuild } from './builds.mjs';
import { bundledNodeVariable, nodeModules, root } from './paths.mjs';

const folder = 'node_modules/.cache/node';
const bundle = process.env[bundledNodeVariable];
const recipe = 'tools/node-bundle.mjs';

/** The node, and what it imports first in tests: both use the same modules. */
const entries = ['node/main.ts', 'test/kit/processes/report-answers.ts'];
/** The sources, if the tests were not started by `npm test`. */
export const nodeProgram = bundle ? join(bundle, 'main.mjs') : join(root, 'node/main.ts');
/** Flag that lets a node report its responses, to compare them with openapi.json. */
export const reportAnswers = `--import=${bundle ? join(bundle, 'report-answers.mjs') : join(root, 'test/kit/processes/report-answers.ts')}`;

/** Loaded in few processes only: native code, and the SDK of S3, which cannot send files from a bundle. */
const external = ['node-av', 'node-av/*', '@aws-sdk/*', '@smithy/*'];

// Bundled CommonJS code loads the modules of Node.js with `require`, which an ES module does not have.
const banner = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/**
 * Builds it if its sources changed since the last build.
 * @returns {Promise<NodeJS.ProcessEnv>} variables of the test files
 */
export async function ensureNode() {
  await ensureBuild({
    name: 'the node for tests',
    recipe,
    sources: ['node', 'api', 'tracing', 'test/kit/answers', ...entries, 'tools/paths.mjs', 'package.json', recipe],
    output: folder,
    command: [recipe],
    script: `node ${recipe}`,
  });
  return { [bundledNodeVariable]: join(root, folder) };
}

/**
 * Files find others by their own path, which is that of the source.
 * @type {import('esbuild').Plugin}
 */
const ownPaths = {
  name: 'own-paths',
  setup({ onLoad }) {
    onLoad({ filter: /\.(ts|mjs)$/ }, ({ path }) => {
      if (path.startsWith(nodeModules)) return undefined;
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.filename', JSON.stringify(path))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
    });
  },
};

async function write() {
  const { build } = await import('esbuild');
  // Chunks have new names.
  rmSync(join(root, folder), { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: entries,
    entryNames: '[name]',
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: banner },
    external,
    plugins: [ownPaths],
    logLevel: 'error',
  });
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? '')).href) await write();
