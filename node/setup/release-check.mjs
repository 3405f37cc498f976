// `npm run release:check`: what a release needs besides tests: the images, a bill of materials of each in dist/release, no known hole in a package.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureDependencies } from './dependencies.mjs';
import { ensureImages } from './images.mjs';
import { buildah } from './images-store.mjs';
import { root } from './paths.mjs';
import { billOfMaterials, debianComponents, npmComponent, npmComponents } from './release-sbom.mjs';
import { fail, run, SetupError, step } from './steps.mjs';

/** @typedef {import('./images.mjs').BuiltImage} BuiltImage */
/** @typedef {import('./release-sbom.mjs').Component} Component */

const auditDeadline = 120_000;
/** Holes of these kinds stop a release. */
const grave = /** @type {const} */ (['high', 'critical']);

/**
 * @param {string} output of `npm audit --json`
 * @returns {{ stops: boolean, sentence: string }}
 * @throws {SetupError} when the registry did not answer the question
 */
export function auditVerdict(output) {
  /** @type {{ message?: string, metadata?: { vulnerabilities?: Record<string, number> } }} */
  let report = {};
  try {
    report = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1));
  } catch {
    report = { message: 'no JSON came' };
  }
  const counts = report.metadata?.vulnerabilities;
  if (counts === undefined) {
    throw new SetupError(
      `The registry did not say which holes are known: ${report.message ?? 'it gave no counts'}.`,
      'ask where the whole registry can be reached: npm audit --omit=dev',
    );
  }
  const found = Object.entries(counts).filter(([kind, count]) => kind !== 'total' && count > 0);
  const stops = grave.some((kind) => (counts[kind] ?? 0) > 0);
  if (found.length === 0) return { stops, sentence: 'No hole is known in a package that a release has.' };
  return {
    stops,
    sentence: `Holes are known in packages that a release has: ${found.map(([kind, count]) => `${count} ${kind}`).join(', ')}.`,
  };
}

/**
 * @param {BuiltImage} image
 * @returns {Promise<Component[]>}
 */
async function componentsOf({ image }) {
  const container = (await buildah(['from', '--pull=never', image])).trim();
  try {
    const rootfs = (await buildah(['mount', container])).trim();
    const release = /^VERSION_ID="?([\d.]+)/m.exec(readFileSync(join(rootfs, 'etc/os-release'), 'utf8'))?.[1] ?? 'unknown';
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const node = packages['node_modules/node'].version;
    const bundled = join(rootfs, 'app/packages.json');
    return [
      ...debianComponents(readFileSync(join(rootfs, 'var/lib/dpkg/status'), 'utf8'), release),
      ...npmComponents(join(rootfs, 'app/node_modules')),
      ...(existsSync(bundled) ? JSON.parse(readFileSync(bundled, 'utf8')).map(npmComponent) : []),
      { type: 'application', name: 'node', version: node, purl: `pkg:generic/node@${node}`, license: 'MIT' },
    ];
  } finally {
    await buildah(['rm', container]);
  }
}

async function writeBills() {
  const folder = join(root, 'dist', 'release');
  mkdirSync(folder, { recursive: true });
  for (const image of await ensureImages()) {
    const [name = '', version = ''] = image.image.split(/:(?=[^:]*$)/);
    const file = join(folder, `${image.name}.cdx.json`);
    const components = await componentsOf(image);
    writeFileSync(file, `${JSON.stringify(billOfMaterials({ name, version, digest: image.digest }, components), undefined, 2)}\n`);
    console.log(`${image.image} ${image.digest}: ${components.length} components in ${file}`);
  }
}

async function audit() {
  const args = ['audit', '--omit=dev', '--json'];
  const { output } = await step('asking the registry for known holes', () => run('npm', args, { cwd: root, deadline: auditDeadline }));
  const { stops, sentence } = auditVerdict(output);
  if (stops) throw new SetupError(sentence, 'npm audit --omit=dev tells which; then update them');
  console.log(sentence);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await ensureDependencies();
    await writeBills();
    await audit();
  } catch (error) {
    fail(error);
  }
}
