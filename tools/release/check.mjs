// `npm run release:check`: builds the images, writes bills of materials to dist/release, checks vulnerabilities and registry signatures.

import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureDependencies } from '../dependencies.mjs';
import { ensureImages } from '../images/images.mjs';
import { lastError } from '../packages.mjs';
import { root } from '../paths.mjs';
import { fail, run, SetupError, step } from '../steps.mjs';

const auditTimeoutMs = 120_000;
/** Vulnerabilities of these severities block a release. */
const grave = /** @type {const} */ (['high', 'critical']);

/**
 * @param {string} output of `npm audit --json`
 * @returns {{ stops: boolean, message: string }}
 * @throws {SetupError} if the registry returned no result
 */
export function auditVerdict(output) {
  /** @type {{ message?: string, metadata?: { vulnerabilities?: Record<string, number> } }} */
  let report = {};
  try {
    report = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1));
  } catch {
    report = { message: 'no JSON in the response' };
  }
  const counts = report.metadata?.vulnerabilities;
  if (counts === undefined) {
    throw new SetupError(
      `The registry returned no vulnerabilities report: ${report.message ?? 'it contains no counts'}.`,
      'use a registry that supports audits: npm audit --omit=dev',
    );
  }
  const found = Object.entries(counts).filter(([kind, count]) => kind !== 'total' && count > 0);
  const stops = grave.some((kind) => (counts[kind] ?? 0) > 0);
  if (found.length === 0) return { stops, message: 'The released packages have no known vulnerability.' };
  return {
    stops,
    message: `The released packages have known vulnerabilities: ${found.map(([kind, count]) => `${count} ${kind}`).join(', ')}.`,
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
  const { output } = await step('checking for known vulnerabilities', () => run('npm', args, { cwd: root, deadline: auditTimeoutMs }));
  const { stops, message } = auditVerdict(output);
  if (stops) throw new SetupError(message, 'update the packages that this lists: npm audit --omit=dev');
  console.log(message);
}

/**
 * @param {number} code of `npm audit signatures`
 * @param {string} output
 * @returns {string} a message
 * @throws {SetupError} if a package has no valid signature of its registry, or the signatures could not be checked
 */
export function signaturesVerdict(code, output) {
  const [wrong] = /^\d+ packages? ha(?:s|ve) (?:an )?(?:missing|invalid) .*$/m.exec(output) ?? [];
  if (wrong) throw new SetupError(`Package signatures are invalid: ${wrong}`, 'see the packages with: npm audit signatures --omit=dev');
  const [verified] = /^\d+ packages? ha(?:s|ve) (?:a )?verified registry signatures?$/m.exec(output) ?? [];
  if (code === 0 && verified) return `All packages have valid signatures: ${verified}.`;
  throw new SetupError(
    `The package signatures could not be checked: ${lastError(output)}`,
    'check that the registry and sigstore are reachable: npm audit signatures --omit=dev',
  );
}

async function auditSignatures() {
  const args = ['audit', 'signatures', '--omit=dev'];
  const { code, output } = await step('checking package signatures', () => run('npm', args, { cwd: root, deadline: auditTimeoutMs }));
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
