// `npm run fuzz:worker [-- TARGET [SECONDS]]`: libFuzzer with ASan and UBSan on the patched media worker, see test/fuzz/README.md.
// Defaults: all targets, 60 seconds each. 0 seconds run the corpus once; `npm run fuzz:worker -- keep` adds findings to test/fuzz/corpus.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ensureDependencies } from '../dependencies.mjs';
import { withLock } from '../lock.mjs';
import { aptPackages, ensurePackages, lastError } from '../packages.mjs';
import { cacheDirectory, root } from '../paths.mjs';
import { fail, run, runInForeground, SetupError, step } from '../steps.mjs';
import { findMeson, prepareSource } from './build.mjs';
import { buildDigest, installedVersion } from './patches.mjs';

const targets = ['rtcp', 'rtp', 'sctp', 'stun', 'tcp', 'upstream'];
const sources = join(root, 'test', 'fuzz', 'worker');
const kept = join(root, 'test', 'fuzz', 'corpus');
const sanitizers = '-fsanitize=address,undefined,fuzzer-no-link';
const flags = `-O1 -gline-tables-only -fno-omit-frame-pointer -fno-sanitize-recover=undefined ${sanitizers}`;
const maxInput = 4096;
const buildTimeoutMs = 7_200_000;
const shortTimeoutMs = 300_000;

const [wanted = 'all', seconds = '60'] = process.argv.slice(2);

try {
  if (![...targets, 'all', 'keep'].includes(wanted)) {
    throw new SetupError(`TARGET must be one of ${targets.join(', ')}, all or keep, got: ${wanted}`);
  }
  if (!/^\d{1,6}$/.test(seconds)) throw new SetupError(`SECONDS must be a whole number, got: ${seconds}`);
  await ensureDependencies();
  const version = installedVersion();
  const folder = join(cacheDirectory(), 'worker-fuzz', `${version}-${buildDigest()}`);
  await withLock(join(cacheDirectory(), 'locks', 'worker-fuzz'), () => build(folder, version));
  const chosen = targets.includes(wanted) ? [wanted] : targets;
  for (const target of chosen) await (wanted === 'keep' ? keep(folder, target) : fuzz(folder, target));
} catch (error) {
  fail(error);
}

/**
 * Builds all targets, incrementally if a build exists.
 * @param {string} folder
 * @param {string} version
 */
async function build(folder, version) {
  await ensurePackages([...aptPackages.worker, ...aptPackages.fuzz], 'fuzzing the media worker');
  const meson = await findMeson();
  const options = { env: { ...meson.env, CC: 'clang', CXX: 'clang++' }, deadline: buildTimeoutMs };
  const out = join(folder, 'out');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(out, 'build.ninja'))) {
    rmSync(join(folder, 'worker'), { recursive: true, force: true });
    const source = await prepareSource(folder, version);
    const file = join(source, 'meson.build');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n${readFileSync(join(sources, 'meson.build'), 'utf8')}`);
    cpSync(sources, join(source, 'mediarooms'), { recursive: true });
    const setup = ['setup', out, source, '--buildtype', 'plain', '--wrap-mode=nodownload', '-Dms_build_fuzzer=true', '-Db_lundef=false'];
    const args = [...meson.command.slice(1), ...setup, `-Dcpp_args=${flags}`, `-Dcpp_link_args=${sanitizers}`];
    await done(run(/** @type {string} */ (meson.command[0]), args, options), 'configured', folder);
  }
  cpSync(sources, join(folder, 'worker', 'mediarooms'), { recursive: true, preserveTimestamps: true });
  await step('building the fuzz targets of the media worker with clang (the first time about 10 minutes)', () =>
    done(run('ninja', ['-C', out, ...targets.map((target) => `fuzz-${target}`)], options), 'built', folder),
  );
}

/**
 * @param {Promise<{ code: number, output: string }>} running
 * @param {string} what
 * @param {string} folder
 */
async function done(running, what, folder) {
  const { code, output } = await running;
  if (code === 0) return;
  const log = join(folder, 'build.log');
  writeFileSync(log, output);
  const first = output.split('\n').find((line) => /\berror: /i.test(line)) ?? lastError(output);
  throw new SetupError(`The fuzz targets could not be ${what}: ${first.trim().slice(0, 300)} (all output: ${log})`);
}

/**
 * @param {string} folder
 * @param {string} target
 */
async function fuzz(folder, target) {
  const { corpus, findings } = await workspace(folder, target);
  const known = new Set(readdirSync(findings));
  const limit =
    seconds === '0' ? ['-runs=0'] : [`-max_total_time=${seconds}`, '-fork=1', '-ignore_crashes=1', '-ignore_ooms=1', '-ignore_timeouts=1'];
  const options = ['-len_control=0', '-use_value_profile=1', '-timeout=20', `-max_len=${maxInput}`, `-artifact_prefix=${findings}/`];
  const { code, signalled } = await runInForeground(program(folder, target), [...options, ...limit, corpus], process.env, folder);
  const found = readdirSync(findings).filter((name) => !known.has(name));
  for (const name of found) console.error(`[fuzz] crash in ${target}; reproduce with: ${program(folder, target)} ${join(findings, name)}`);
  if (signalled) process.exit(1);
  if (found.length > 0 || code !== 0) process.exitCode = 1;
}

/**
 * Writes the smallest set of inputs with the same coverage.
 * @param {string} folder
 * @param {string} target
 */
async function keep(folder, target) {
  const { corpus } = await workspace(folder, target);
  const smallest = mkdtempSync(join(folder, 'smallest-'));
  try {
    const args = ['-merge=1', `-max_len=${maxInput}`, smallest, corpus];
    await done(run(program(folder, target), args, { deadline: buildTimeoutMs }), 'merged', folder);
    const archive = join(kept, `${target}.tar.gz`);
    // Makes the archive reproducible.
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-I', 'gzip -9n'];
    const { code, output } = await run('tar', [...same, '-cf', `${archive}.new`, '-C', smallest, '.'], { deadline: shortTimeoutMs });
    if (code !== 0) throw new SetupError(`The corpus of ${target} could not be written: ${lastError(output)}`);
    renameSync(`${archive}.new`, archive);
    console.error(`[fuzz] ${target}: ${readdirSync(smallest).length} inputs in the corpus`);
  } finally {
    rmSync(smallest, { recursive: true, force: true });
  }
}

/**
 * Corpus and findings of a target: the stored inputs together with those found on this machine, and the inputs that crashed it.
 * @param {string} folder
 * @param {string} target
 */
async function workspace(folder, target) {
  const corpus = join(folder, 'corpus', target);
  const findings = join(folder, 'findings', target);
  mkdirSync(corpus, { recursive: true });
  mkdirSync(findings, { recursive: true });
  const archive = join(kept, `${target}.tar.gz`);
  if (existsSync(archive)) {
    const { code, output } = await run('tar', ['-xzf', archive, '-C', corpus], { deadline: shortTimeoutMs });
    if (code !== 0) throw new SetupError(`${archive} could not be unpacked: ${lastError(output)}`);
  }
  return { corpus, findings };
}

/**
 * @param {string} folder
 * @param {string} target
 */
function program(folder, target) {
  return join(folder, 'out', `fuzz-${target}`);
}
