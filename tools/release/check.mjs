// `npm run release:check`: what a release needs besides tests: the images, a bill of materials of each in dist/release, no known hole in a package, each signed by its registry.

import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureDependencies } from '../dependencies.mjs';
import { ensureImages } from '../images/images.mjs';
import { lastError } from '../packages.mjs';
import { root } from '../paths.mjs';
import { fail, run, SetupError, step } from '../steps.mjs';

const auditTimeoutMs = 120_000;
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

async function writeBills() {
  const folder = join(root, 'dist', 'release');
  mkdirSync(folder, { recursive: true });
  for (const { name, image, digest, bill } of await ensureImages()) {
    const file = join(folder, `${name}.cdx.json`);
    copyFileSync(bill, file);
    const { components } = JSON.parse(readFileSync(file, 'utf8'));
    console.log(`${image} ${digest}: ${components.length} components in ${file}`);
  }
}

async function audit() {
  const args = ['audit', '--omit=dev', '--json'];
  const { output } = await step('asking the registry for known holes', () => run('npm', args, { cwd: root, deadline: auditTimeoutMs }));
  const { stops, sentence } = auditVerdict(output);
  if (stops) throw new SetupError(sentence, 'npm audit --omit=dev tells which; then update them');
  console.log(sentence);
}

/**
 * @param {number} code of `npm audit signatures`
 * @param {string} output
 * @returns {string} a sentence
 * @throws {SetupError} when a package is not what its registry signed, or nobody could say so
 */
export function signaturesVerdict(code, output) {
  const [wrong] = /^\d+ packages? ha(?:s|ve) (?:an )?(?:missing|invalid) .*$/m.exec(output) ?? [];
  if (wrong) throw new SetupError(`Not every package is what its registry signed: ${wrong}`, 'npm audit signatures --omit=dev tells which');
  const [verified] = /^\d+ packages? ha(?:s|ve) (?:a )?verified registry signatures?$/m.exec(output) ?? [];
  if (code === 0 && verified) return `Every package is what its registry signed: ${verified}.`;
  throw new SetupError(
    `The signatures of packages could not be checked: ${lastError(output)}`,
    'ask where registry and sigstore can be reached: npm audit signatures --omit=dev',
  );
}

async function auditSignatures() {
  const args = ['audit', 'signatures', '--omit=dev'];
  const { code, output } = await step('checking the signatures of packages', () =>
    run('npm', args, { cwd: root, deadline: auditTimeoutMs }),
  );
  console.log(signaturesVerdict(code, output));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await ensureDependencies();
    await writeBills();
    await audit();
    await auditSignatures();
  } catch (error) {
    fail(error);
  }
}
