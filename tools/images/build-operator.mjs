// Operator bundle: `node tools/images/build-operator.mjs [FOLDER]` (operator/dist) writes operator.mjs and the licenses of its packages.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Not from paths.mjs: the build stage of the image has no other file of setup.
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

// Bundled CommonJS code loads the modules of Node.js with `require`, which an ES module does not have.
const banner = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

const client = '@kubernetes/client-node';

/**
 * The client for Kubernetes does not declare that its modules have no side effects, so that the bundle would contain the classes of all
 * kinds. It has one, a polyfill for Node.js 18.
 * @type {import('esbuild').Plugin}
 */
export const usedClassesOnly = {
  name: 'used-classes-only',
  setup({ onResolve, resolve }) {
    const inside = join('node_modules', client, sep);
    onResolve({ filter: new RegExp(`^${client}$`) }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === client) return undefined;
      return { ...(await resolve(path, { kind, importer, resolveDir, pluginData: client })), sideEffects: false };
    });
    // Not with resolve(), which needs 7 ms for each of 2,000 modules.
    onResolve({ filter: /^\..*\.js$/ }, ({ path, importer, resolveDir }) =>
      importer.includes(inside) ? { path: join(resolveDir, path), sideEffects: false } : undefined,
    );
  },
};

/**
 * @param {string} folder output folder
 * @param {string} [entry] entry file; tests use another one
 * @returns {Promise<{ file: string, packages: Bundled[] }>} packages: the bundled packages
 */
export async function buildOperator(folder, entry = join(root, 'operator', 'main.ts')) {
  // Imported on use, so that the other functions of this module need no node_modules.
  const { build } = await import('esbuild');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'operator.mjs');
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    banner: { js: banner },
    // Not minified: one line per statement makes stack traces readable, which is worth a megabyte.
    legalComments: 'none',
    plugins: [usedClassesOnly],
    metafile: true,
    logLevel: 'error',
  });
  writeFileSync(file, asciiOf(readFileSync(file, 'utf8')));
  const packages = packageFolders(Object.keys(metafile.inputs)).map(readPackage);
  writeFileSync(join(folder, 'LICENSES.txt'), licences(packages));
  // For the bill of materials, because the bundle does not show its packages.
  writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages.map(({ texts: _, ...each }) => each))}\n`);
  return { file, packages };
}

/**
 * esbuild escapes all characters except those of comments, and V8 keeps a source with one such character in two bytes per character.
 * @param {string} code
 */
function asciiOf(code) {
  return code.replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * @param {readonly string[]} inputs paths of bundled files, relative to the root
 * @returns {string[]} folders of the packages they belong to, sorted
 */
export function packageFolders(inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) folders.add(match[1]);
  }
  return [...folders].sort();
}

/**
 * @typedef {{ name: string, version: string, license: string, texts: string[] }} Bundled texts: of its license
 * @param {string} folder relative to the root
 * @returns {Bundled}
 */
function readPackage(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const files = readdirSync(join(root, folder)).filter((each) => /^(licen[cs]e|notice|copying)/i.test(each));
  return { name, version, license, texts: files.sort().map((each) => readFileSync(join(root, folder, each), 'utf8').trim()) };
}

/**
 * The license texts that must be distributed with the bundled packages.
 * @param {readonly Bundled[]} packages
 * @returns {string}
 */
function licences(packages) {
  const parts = packages.map(({ name, version, license, texts }) => [`${name} ${version} (${license})`, ...texts].join('\n\n'));
  return `The operator contains these packages.\n\n${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { file } = await buildOperator(resolve(process.argv[2] ?? join(root, 'operator', 'dist')));
  console.error(`built ${file}`);
}
