// Build of the Kubernetes programs from Go modules, because release pages may be unreachable: one build, one version of shared packages.

import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { lastError } from '../packages.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';
import { copySubset, coreDnsMain, programsModule, requiredVersion, vendoredSubsets } from './module.mjs';
import { kubernetesVersion, otherPackages, programModules, traefikModule, traefikVersion } from './versions.mjs';

/** @typedef {import('./versions.mjs').KubernetesProgram} KubernetesProgram */

const buildTimeoutMs = 3_600_000;

/**
 * Single-core minutes of each program in addition to the ones before it, with an empty Go cache: measured, rounded.
 * @type {ReadonlyMap<string, number>}
 */
const minutes = new Map([
  ['etcd', 2],
  ['kube-apiserver', 7],
  ['kube-controller-manager', 2],
  ['versitygw', 2],
  ['traefik', 6],
]);

/**
 * Builds the missing programs and moves them into the folder when all are complete; Go's cache keeps what was compiled before a failure.
 * @param {readonly KubernetesProgram[]} missing
 * @param {string} folder in the cache directory
 * @throws {SetupError}
 */
export async function buildKubernetes(missing, folder) {
  if (missing.length === 0) return;
  await requireGo(missing);
  const cores = Math.max(cpus().length, 1);
  const work = missing.reduce((sum, name) => sum + (minutes.get(name) ?? 1), 0);
  const temporary = mkdtempSync(join(folder, '.build-'));
  try {
    const title = `building ${missing.join(', ')} from Go modules (once; about ${Math.ceil(work / cores)} minutes on ${cores} cores)`;
    await step(title, async () => {
      const built = join(temporary, 'built');
      const together = missing.filter((name) => name !== 'traefik');
      if (together.length > 0) await compile(together, await makeModule(temporary), built);
      if (missing.includes('traefik')) await compile(['traefik'], await makeTraefik(temporary), built);
      for (const name of missing) renameSync(join(built, binaryOf(name)), join(folder, name));
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** @param {readonly string[]} missing */
async function requireGo(missing) {
  const { code } = await run('go', ['version'], { deadline: 20_000 });
  if (code === 0) return;
  throw new SetupError(
    `${missing.join(', ')} not found; building from source requires Go 1.26 or newer, which is not on PATH.`,
    'install Go (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with these programs',
  );
}

/**
 * @param {string} temporary folder outside of any Go module
 * @returns {Promise<string>} the folder of a module that depends on all programs but Traefik
 */
async function makeModule(temporary) {
  const folder = join(temporary, 'programs');
  mkdirSync(join(folder, 'coredns'), { recursive: true });
  const { goMod } = await download('k8s.io/kubernetes', programModules['k8s.io/kubernetes'], temporary);
  writeFileSync(join(folder, 'go.mod'), programsModule(readFileSync(goMod, 'utf8')));
  writeFileSync(join(folder, 'coredns', 'main.go'), coreDnsMain());
  return folder;
}

/**
 * @param {string} temporary folder outside of any Go module
 * @returns {Promise<string>} the folder of a copy of Traefik without the cut code; modules that it depends on are cut as well
 */
async function makeTraefik(temporary) {
  const folder = join(temporary, 'modules', traefikModule);
  const { goMod } = await download(traefikModule, traefikVersion, temporary);
  const requirements = readFileSync(goMod, 'utf8');
  const replaced = [];
  for (const [name, cut] of Object.entries(vendoredSubsets)) {
    const version = name === traefikModule ? traefikVersion : requiredVersion(requirements, name);
    if (version === undefined) throw new SetupError(`Traefik ${traefikVersion} requires no ${name}.`);
    const copy = join(temporary, 'modules', name);
    copySubset((await download(name, version, temporary)).folder, copy, cut);
    if (name !== traefikModule) replaced.push(`replace ${name} => ${copy}\n`);
  }
  appendFileSync(join(folder, 'go.mod'), replaced.join(''));
  return folder;
}

/**
 * @param {string} module
 * @param {string} version
 * @param {string} cwd folder outside of any Go module
 * @returns {Promise<{ goMod: string, folder: string }>} paths in Go's module cache
 */
async function download(module, version, cwd) {
  const output = await go(module, ['mod', 'download', '-json', `${module}@${version}`], cwd);
  const [goMod, folder] = ['GoMod', 'Dir'].map((field) => new RegExp(`"${field}": ("[^"]+")`).exec(output)?.[1]);
  if (goMod === undefined || folder === undefined) throw new SetupError(`go mod download did not return ${module}.`);
  return { goMod: JSON.parse(goMod), folder: JSON.parse(folder) };
}

/**
 * One go build for all programs, so that every core is busy until the last program is linked.
 * @param {readonly KubernetesProgram[]} missing
 * @param {string} module folder
 * @param {string} built output folder of the programs
 */
async function compile(missing, module, built) {
  const flags = ['-mod=mod', '-gcflags=all=-dwarf=false', '-ldflags=-s -w', `-ldflags=k8s.io/kubernetes/cmd/...=${kubernetesFlags()}`];
  await go(missing.join(', '), ['build', ...flags, '-o', `${built}/`, ...missing.map(packageOf)], module);
}

/**
 * @param {KubernetesProgram} name
 * @returns {string}
 */
function packageOf(name) {
  return name in otherPackages ? otherPackages[/** @type {keyof typeof otherPackages} */ (name)] : `k8s.io/kubernetes/cmd/${name}`;
}

/**
 * @param {KubernetesProgram} name
 * @returns {string} the name that Go uses: the last part of its package path that is not a version
 */
function binaryOf(name) {
  return (
    packageOf(name)
      .split('/')
      .filter((part) => !/^v\d+$/.test(part))
      .at(-1) ?? name
  );
}

/**
 * @param {string} what
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<string>} output of Go
 */
async function go(what, args, cwd) {
  // A compiler heap of up to half a gigabyte saves a fifth of the time.
  const own = { CGO_ENABLED: '0', GOFLAGS: '-trimpath -buildvcs=false', GOGC: '400', GOWORK: 'off' };
  // Tests may run in parallel and take precedence.
  const [program = '', ...before] = process.platform === 'win32' ? ['go'] : ['nice', '-n', '19', 'go'];
  // Go's cache keeps the modules that were compiled before a timeout.
  const options = { cwd, env: { ...process.env, ...own }, deadline: buildTimeoutMs };
  const { code, output, timedOut } = await runWithRetry(() => run(program, [...before, ...args], options));
  if (code === 0) return output;
  const why = timedOut ? `no result within ${buildTimeoutMs / 60_000} minutes` : lastError(output);
  throw new SetupError(
    `${what} could not be built from Go modules: ${why}`,
    'set KUBEBUILDER_ASSETS to a folder with these programs, or set GOPROXY to a reachable proxy',
  );
}

/** Version that `kubectl version`, Helm and other readers of /version expect. */
function kubernetesFlags() {
  const [major, minor] = kubernetesVersion.split('.');
  const variable = 'k8s.io/component-base/version';
  return `-s -w -X ${variable}.gitVersion=v${kubernetesVersion} -X ${variable}.gitMajor=${major} -X ${variable}.gitMinor=${minor}`;
}
