// Node bundle of the image: `node tools/images/build-node.mjs [FOLDER]` (.cache/image-node) writes node/main.js and the programs that it
// starts. A bundle starts in half of the CPU time of its modules.

import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Not from paths.mjs: the build stage of the image has no other file of setup.
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The node, the entry of component processes, and the thread of TURN over TLS. */
const programs = ['node/main.ts', 'node/components/process/main.ts', 'node/turn/front/front-thread.ts'];

/** Loaded in few processes only: native code, and the SDK of S3, which cannot send files from a bundle. */
const external = ['node-av', 'node-av/*', '@aws-sdk/*', '@smithy/*'];

/** @param {string} folder output folder, where the node will run */
export async function buildNode(folder) {
  const compiled = (/** @type {string} */ source) => join(folder, relative(root, source)).replace(/\.ts$/, '.js');
  await bundle({
    entryPoints: programs,
    entryNames: '[dir]/[name]',
    chunkNames: 'node/chunks/[name]-[hash]',
    outbase: '.',
    outdir: folder,
    // Source text stays in memory. Names are kept, for stack traces; the maps are for `--enable-source-maps`.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: 'linked',
    sourcesContent: false,
    plugins: [pathsOf(compiled)],
  });
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
}

/** @param {import('esbuild').BuildOptions} options in addition to those of every bundle of the node */
export async function bundle(options) {
  // Imported on use, so that the other functions of this module need no node_modules.
  const { build } = await import('esbuild');
  // Bundled CommonJS code loads the modules of Node.js with `require`, which an ES module does not have.
  const banner = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";
  await build({
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: banner },
    external,
    legalComments: 'none',
    logLevel: 'error',
    ...options,
  });
}

/**
 * Our files find others by their own path, which a bundle does not keep.
 * @param {(source: string) => string} place path of a source file when the bundle runs
 * @returns {import('esbuild').Plugin}
 */
export function pathsOf(place) {
  return {
    name: 'paths',
    setup({ onLoad }) {
      onLoad({ filter: /\.(ts|mjs)$/ }, ({ path }) => {
        if (path.includes('/node_modules/')) return undefined;
        const own = place(path);
        const contents = readFileSync(path, 'utf8')
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(own)))
          .replaceAll('import.meta.filename', JSON.stringify(own))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(own).href));
        return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
      });
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = resolve(process.argv[2] ?? join(root, '.cache/image-node'));
  mkdirSync(folder, { recursive: true });
  await buildNode(folder);
  console.error(`built ${folder}`);
}
