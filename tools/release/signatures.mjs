// Signatures of a release: cosign signs images, chart and checksums, and attaches the bill of materials to each image.

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from '../lock.mjs';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';

const cosignVersion = 'v2.6.5';
const buildTimeoutMs = 3_600_000;
const cosignTimeoutMs = 120_000;

/**
 * @typedef {object} Signer
 * @property {string} [key] path of a private key; without it cosign uses the identity of the workflow (keyless) and the public log
 * @property {boolean} plainHttp true if the image registry has no TLS
 */

/**
 * @returns {Promise<string>} path of cosign: on PATH, or built from Go modules into the cache
 * @throws {SetupError}
 */
export async function ensureCosign() {
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'cosign'));
  const found = onPath.find((path) => existsSync(path));
  if (found !== undefined) return found;
  const folder = join(cacheDirectory(), 'release');
  const program = join(folder, `cosign-${cosignVersion}`);
  await withLock(join(cacheDirectory(), 'locks', 'cosign'), async () => {
    if (existsSync(program)) return;
    mkdirSync(folder, { recursive: true });
    await step(`building cosign ${cosignVersion} from Go modules (once)`, () => build(folder, program));
  });
  return program;
}

/**
 * @param {string} folder
 * @param {string} program
 */
async function build(folder, program) {
  const work = mkdtempSync(join(folder, '.build-'));
  try {
    const env = { ...process.env, GOBIN: work, CGO_ENABLED: '0', GOFLAGS: '-trimpath -buildvcs=false', GOGC: '400', GOWORK: 'off' };
    const args = ['install', '-ldflags=-s -w', '-gcflags=all=-dwarf=false', `github.com/sigstore/cosign/v2/cmd/cosign@${cosignVersion}`];
    const { code, output } = await runWithRetry(() => run('go', args, { cwd: work, env, deadline: buildTimeoutMs }));
    if (code !== 0) {
      throw new SetupError(`cosign could not be built from Go modules: ${lastError(output)}`, 'install cosign and add it to PATH');
    }
    renameSync(join(work, 'cosign'), program);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {Signer} signer
 * @returns {string[]} options of every command that signs
 */
function signingOptions({ key }) {
  return key === undefined ? ['--yes'] : ['--yes', `--key=${key}`, '--tlog-upload=false'];
}

/**
 * @param {string} reference image or chart with its digest
 * @param {Signer} signer
 */
export async function signReference(reference, signer) {
  await cosign(['sign', '--recursive', ...signingOptions(signer), ...insecure(signer), reference]);
}

/**
 * @param {string} reference image with its digest
 * @param {string} bill path of its bill of materials
 * @param {Signer} signer
 */
export async function attestBill(reference, bill, signer) {
  await cosign(['attest', '--type=cyclonedx', `--predicate=${bill}`, ...signingOptions(signer), ...insecure(signer), reference]);
}

/**
 * @param {string} file
 * @param {Signer} signer
 * @returns {Promise<string>} path of the signature, a bundle that `cosign verify-blob --bundle` accepts
 */
export async function signFile(file, signer) {
  const bundle = `${file}.bundle`;
  await cosign(['sign-blob', ...signingOptions(signer), `--bundle=${bundle}`, file]);
  return bundle;
}

/** @param {Signer} signer */
function insecure({ plainHttp }) {
  return plainHttp ? ['--allow-http-registry'] : [];
}

/**
 * @param {string[]} args
 * @returns {Promise<string>} its output
 * @throws {SetupError}
 */
export async function cosign(args) {
  const { code, output } = await run(await ensureCosign(), args, { deadline: cosignTimeoutMs });
  if (code !== 0) throw new SetupError(`cosign ${args[0]} failed: ${lastError(output)}`, `cosign ${args.join(' ')}`);
  return output;
}
