// LiveKit's server, and the load generator of the benchmarks livekit and whep: built from Go modules that go.sum of test/bench/load pins.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureGoProgram, goBuild } from '../go-build.mjs';
import { withLock } from '../lock.mjs';
import { cacheDirectory, nodeModules, root } from '../paths.mjs';
import { SetupError, step } from '../steps.mjs';

const buildTimeoutMs = 1_800_000;
const source = 'test/bench/load';
const module = join(root, source);
const serverPackage = 'github.com/livekit/livekit-server';

const load = join(nodeModules, '.mediarooms-bench-load');

/**
 * @typedef {object} LiveKitPrograms
 * @property {string} server path of LiveKit's server
 * @property {string} load path of the load generator
 * @property {string} version of the server, e.g. `1.13.5`
 */

/**
 * Builds the programs that are missing or outdated: the server once for all checkouts, the load generator for this one.
 * @returns {Promise<LiveKitPrograms>}
 * @throws {SetupError}
 */
export async function ensureLiveKit() {
  return { ...(await ensureLiveKitServer()), load: await ensureLoad() };
}

/** @returns {Promise<Omit<LiveKitPrograms, 'load'>>} */
export async function ensureLiveKitServer() {
  const version = serverVersion(readFileSync(join(module, 'go.mod'), 'utf8'));
  const sums = createHash('sha256')
    .update(readFileSync(join(module, 'go.sum')))
    .digest('hex');
  const name = `${version}-${sums.slice(0, 8)}-${process.platform}-${process.arch}`;
  const server = join(cacheDirectory(), 'livekit', name, 'livekit-server');
  // Another setup may be building it, which takes minutes.
  await withLock(join(cacheDirectory(), 'locks', `livekit-${name}`), () => ensureServer(server, version), { deadline: buildTimeoutMs });
  return { server, version };
}

/**
 * @param {string} goMod content of go.mod
 * @returns {string} the required version of LiveKit's server
 * @throws {SetupError} if it requires none
 */
export function serverVersion(goMod) {
  const version = new RegExp(`^\\s*(?:require\\s+)?${serverPackage} v(\\S+)`, 'm').exec(goMod)?.[1];
  if (version === undefined) throw new SetupError(`go.mod of ${source} requires no ${serverPackage}.`);
  return version;
}

/**
 * @param {string} server
 * @param {string} version
 */
async function ensureServer(server, version) {
  if (existsSync(server)) return;
  mkdirSync(dirname(server), { recursive: true });
  const unfinished = `${server}.new`;
  await step(`building LiveKit ${version} from Go modules (once; about 5 minutes)`, () =>
    goBuild(buildOf(`${serverPackage}/cmd/server`, unfinished)),
  );
  renameSync(unfinished, server);
}

/**
 * Builds the load generator if it is missing or outdated.
 * @returns {Promise<string>} its path
 * @throws {SetupError}
 */
export async function ensureLoad() {
  await ensureGoProgram({ ...buildOf('.', load), lock: 'bench-load', text: `building ${source}` });
  return load;
}

/**
 * As in LiveKit's own image, and with the flags of tools/kubernetes/build.mjs: packages that both need are compiled once.
 * @param {string} what Go package
 * @param {string} output
 * @returns {import('../go-build.mjs').GoBuild}
 */
function buildOf(what, output) {
  return {
    ...{ source, what, output, goVersion: '1.26' },
    flags: ['-gcflags=all=-dwarf=false', '-ldflags=-s -w'],
    env: { GOGC: '400', GOFLAGS: `-trimpath -buildvcs=false -mod=readonly ${process.env.GOFLAGS ?? ''}` },
    deadline: buildTimeoutMs,
  };
}
