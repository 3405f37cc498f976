// Builds the programs of Kubernetes from Go modules, which reach where release pages do not. A wrapper module depends on them, because
// `go install` refuses modules with replace directives.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { etcdVersion, installedPackages, kubernetesCommands, kubernetesVersion, traefikVersion } from './kubernetes-versions.mjs';
import { lastError } from './packages.mjs';
import { run, SetupError, step } from './steps.mjs';

/** @typedef {import('./kubernetes-versions.mjs').KubernetesProgram} KubernetesProgram */

const buildDeadline = 3_600_000;
const etcdPackage = 'go.etcd.io/etcd/server/v3';
const traefikModule = 'github.com/traefik/traefik/v3';

/** Minutes of one core that each takes where nothing is in Go's cache: measured on two cores, rounded. */
const minutes = new Map([
  ['etcd', 2],
  ['kube-apiserver', 11],
  ['kube-controller-manager', 3],
  ['helm', 5],
  ['coredns', 6],
  ['versitygw', 3],
  ['traefik', 10],
]);

/**
 * The go.mod of a wrapper around Kubernetes. Its staging modules are all required at v0.0.0, so each must be replaced.
 * @param {string} goMod content of go.mod of k8s.io/kubernetes
 * @returns {string}
 */
export function kubernetesWrapper(goMod) {
  const staging = [...goMod.matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging\//gm)].map(([, name]) => name);
  const version = `v0.${kubernetesVersion.slice(2)}`;
  return [
    'module mediarooms.local/kubernetes',
    goMod.match(/^go .+$/m)?.[0] ?? 'go 1.26.0',
    `require k8s.io/kubernetes v${kubernetesVersion}`,
    `require ${etcdPackage} v${etcdVersion}`,
    ...staging.map((name) => `replace ${name} => ${name} ${version}`),
    '',
  ].join('\n');
}

/**
 * The go.mod of a wrapper around Traefik, with the forks that Traefik itself replaces modules by.
 * @param {string} goMod content of its go.mod
 * @returns {string}
 */
export function traefikWrapper(goMod) {
  const replaced = goMod.match(/^replace \([\s\S]*?^\)|^replace .+$/gm) ?? [];
  const go = goMod.match(/^go .+$/m)?.[0] ?? '';
  return ['module mediarooms.local/traefik', go, `require ${traefikModule} v${traefikVersion}`, ...replaced, ''].join('\n');
}

/**
 * Go's file that makes the wrapper depend on commands.
 * @param {readonly string[]} packages
 */
function toolsFile(packages) {
  return `//go:build tools\n\npackage tools\n\n${packages.map((name) => `import _ "${name}"\n`).join('')}`;
}

/**
 * Builds what is missing and moves each program into the folder when it is whole; what was built before a failure stays.
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
    await step(
      `building ${missing.join(', ')} from Go modules (once; about ${Math.ceil(work / cores)} minutes on ${cores} cores)`,
      async () => {
        const builder = new Builder(temporary, folder);
        for (const name of missing) await step(`building ${name}`, () => builder.build(name));
      },
    );
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** @param {readonly string[]} missing */
async function requireGo(missing) {
  const { code } = await run('go', ['version'], { deadline: 20_000 });
  if (code === 0) return;
  throw new SetupError(
    `${missing.join(', ')} cannot be found or downloaded, and building from source needs Go 1.26 or newer, which is not on PATH.`,
    'install Go (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder that has these programs',
  );
}

class Builder {
  #temporary;
  #folder;
  /** @type {Map<string, string>} wrapper modules made so far */
  #wrappers = new Map();

  /**
   * @param {string} temporary
   * @param {string} folder
   */
  constructor(temporary, folder) {
    this.#temporary = temporary;
    this.#folder = folder;
  }

  /** @param {KubernetesProgram} name */
  async build(name) {
    const out = join(this.#temporary, 'out');
    mkdirSync(out, { recursive: true });
    if (name === 'helm' || name === 'coredns' || name === 'versitygw') {
      await this.#go(name, ['install', '-ldflags', '-s -w', installedPackages[name]], this.#temporary, { GOBIN: out });
    } else if (name === 'traefik') {
      const wrapper = await this.#wrapper(`${traefikModule}@v${traefikVersion}`, traefikWrapper, [`${traefikModule}/cmd/traefik`]);
      await this.#inWrapper(name, wrapper, '-s -w', `${traefikModule}/cmd/traefik`, out);
    } else {
      const commands = kubernetesCommands.map((each) => `k8s.io/kubernetes/cmd/${each}`);
      const wrapper = await this.#wrapper(`k8s.io/kubernetes@v${kubernetesVersion}`, kubernetesWrapper, [etcdPackage, ...commands]);
      const target = name === 'etcd' ? etcdPackage : `k8s.io/kubernetes/cmd/${name}`;
      await this.#inWrapper(name, wrapper, name === 'etcd' ? '-s -w' : kubernetesFlags(), target, out);
    }
    renameSync(join(out, name), join(this.#folder, name));
  }

  /**
   * @param {string} module with its version
   * @param {(goMod: string) => string} make
   * @param {readonly string[]} packages
   * @returns {Promise<string>} the folder of a module that depends on these packages
   */
  async #wrapper(module, make, packages) {
    const known = this.#wrappers.get(module);
    if (known !== undefined) return known;
    const output = await this.#go(module, ['mod', 'download', '-json', module], this.#temporary);
    const goMod = /"GoMod": "([^"]+)"/.exec(output)?.[1];
    if (goMod === undefined || !existsSync(goMod)) throw new SetupError(`go mod download gave no go.mod of ${module}.`);
    const folder = mkdtempSync(join(this.#temporary, 'wrapper-'));
    writeFileSync(join(folder, 'go.mod'), make(readFileSync(goMod, 'utf8')));
    writeFileSync(join(folder, 'tools.go'), toolsFile(packages));
    this.#wrappers.set(module, folder);
    return folder;
  }

  /**
   * @param {string} name
   * @param {string} wrapper
   * @param {string} flags of the linker
   * @param {string} target
   * @param {string} out
   */
  async #inWrapper(name, wrapper, flags, target, out) {
    await this.#go(name, ['build', '-mod=mod', '-ldflags', flags, '-o', join(out, name), target], wrapper);
  }

  /**
   * @param {string} what
   * @param {string[]} args
   * @param {string} cwd
   * @param {NodeJS.ProcessEnv} [env]
   * @returns {Promise<string>} what Go printed
   */
  async #go(what, args, cwd, env = {}) {
    const own = { CGO_ENABLED: '0', GOFLAGS: '-trimpath -buildvcs=false', GOWORK: 'off', ...env };
    const { code, output, timedOut } = await run('go', args, { cwd, env: { ...process.env, ...own }, deadline: buildDeadline });
    if (code === 0) return output;
    const why = timedOut ? `it was still running after ${buildDeadline / 60_000} minutes` : lastError(output);
    throw new SetupError(
      `${what} could not be built from Go modules: ${why}`,
      'set KUBEBUILDER_ASSETS to a folder that has these programs, or give Go a proxy that it reaches (GOPROXY)',
    );
  }
}

/** What `kubectl version`, Helm and everything else that reads /version expects to find. */
function kubernetesFlags() {
  const [major, minor] = kubernetesVersion.split('.');
  const variable = 'k8s.io/component-base/version';
  return `-s -w -X ${variable}.gitVersion=v${kubernetesVersion} -X ${variable}.gitMajor=${major} -X ${variable}.gitMinor=${minor}`;
}
