// The operator as one file: `node tools/images/build-operator.mjs [FOLDER]` (operator/dist) leaves operator.mjs and the licences of what is in it.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Not paths.mjs: in a build stage nothing of set-up but this file is there.
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

// What is bundled of CommonJS asks for Node.js' own modules by `require`, which a module does not have.
const banner = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/**
 * @param {string} folder where it goes
 * @param {string} [entry] another entry, for tests
 * @returns {Promise<{ file: string, packages: Bundled[] }>} packages: those that are in it
 */
export async function buildOperator(folder, entry = join(root, 'operator', 'main.ts')) {
  // Taken when it is asked for: who only wants to know of this module needs no node_modules.
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
    // Not made smaller: a line of its own for each statement is worth more in a log than a megabyte.
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
  });
  const packages = packageFolders(Object.keys(metafile.inputs)).map(readPackage);
  writeFileSync(join(folder, 'LICENSES.txt'), licences(packages));
  // For the bill of materials: in one file nobody sees what it is made of.
  writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages.map(({ texts: _, ...each }) => each))}\n`);
  return { file, packages };
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
 * @typedef {{ name: string, version: string, license: string, texts: string[] }} Bundled texts: of its licence
 * @param {string} folder relative to the root
 * @returns {Bundled}
 */
function readPackage(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const files = readdirSync(join(root, folder)).filter((each) => /^(licen[cs]e|notice|copying)/i.test(each));
  return { name, version, license, texts: files.sort().map((each) => readFileSync(join(root, folder, each), 'utf8').trim()) };
}

/**
 * The texts that the licences of bundled packages ask to be handed on.
 * @param {readonly Bundled[]} packages
 * @returns {string}
 */
function licences(packages) {
  const parts = packages.map(({ name, version, license, texts }) => [`${name} ${version} (${license})`, ...texts].join('\n\n'));
  return `The operator is made with these packages.\n\n${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { file } = await buildOperator(resolve(process.argv[2] ?? join(root, 'operator', 'dist')));
  console.error(`${file} is made`);
}
