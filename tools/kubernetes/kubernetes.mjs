// Kubernetes programs for tests: looks in envtest's folders, PATH and the cache, or builds them from checksummed Go modules.

import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { withLock } from '../lock.mjs';
import { cacheDirectory } from '../paths.mjs';
import { SetupError } from '../steps.mjs';
import { buildKubernetes } from './build.mjs';
import { kubernetesVersion, programsRecipe } from './versions.mjs';

/** @typedef {import('./versions.mjs').KubernetesProgram} KubernetesProgram */

/** A control plane: API server, etcd and controllers. */
export const controlPlanePrograms = /** @type {const} */ (['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl']);

/** Programs of a whole cluster in addition to the control plane, including what is installed into it. */
export const clusterPrograms = /** @type {const} */ ([
  ...controlPlanePrograms,
  'kubelet',
  'kube-proxy',
  'kube-scheduler',
  'coredns',
  'helm',
  'traefik',
]);

/** Programs that work with any version of Kubernetes. @type {readonly string[]} */
const others = ['coredns', 'helm', 'traefik', 'versitygw'];

/**
 * Folders that are searched for programs, in order of preference.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ platform: string, arch: string, list?: (folder: string) => string[] }} machine
 * @returns {string[]} folders; the last one is the cache, which receives missing programs
 */
export function programFolders(env, { platform, arch, list = namesIn }) {
  const data = env.XDG_DATA_HOME?.startsWith('/') ? env.XDG_DATA_HOME : join(env.HOME || homedir(), '.local', 'share');
  const store = join(data, 'kubebuilder-envtest', 'k8s');
  const stored = list(store)
    .filter((name) => name.endsWith(`-${platform}-${goArchitecture(arch)}`))
    .sort((one, other) => other.localeCompare(one, 'en', { numeric: true }))
    .map((name) => join(store, name));
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  const given = env.KUBEBUILDER_ASSETS ? [env.KUBEBUILDER_ASSETS] : [];
  return [...given, ...onPath, '/usr/local/kubebuilder/bin', ...stored, programCache(env, { platform, arch })];
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {{ platform: string, arch: string }} machine
 * @returns {string} e.g. `~/.cache/mediarooms/kubernetes/1.36.3-2-linux-x64`
 */
function programCache(env, { platform, arch }) {
  return join(cacheDirectory(env), 'kubernetes', `${kubernetesVersion}-${programsRecipe}-${platform}-${arch}`);
}

/**
 * @param {string} arch as Node.js names it
 * @returns {string} the Go name
 */
export function goArchitecture(arch) {
  return arch === 'x64' ? 'amd64' : arch;
}

/**
 * Chooses programs: all from one folder if one has them all, otherwise each from the first folder that has it.
 * @param {readonly KubernetesProgram[]} wanted
 * @param {readonly string[]} folders in order of preference
 * @param {(path: string) => boolean} exists
 * @returns {{ found: Partial<Record<KubernetesProgram, string>>, missing: KubernetesProgram[] }} found: paths by name
 */
export function choosePrograms(wanted, folders, exists) {
  const whole = folders.find((folder) => wanted.every((name) => exists(join(folder, name))));
  const searched = whole === undefined ? folders : [whole];
  const ours = folders.at(-1);
  /** @type {Partial<Record<KubernetesProgram, string>>} */
  const found = {};
  for (const name of wanted) {
    // A program without an API server in its folder can be of any version: a user's kubectl, or etcd of a distribution (Debian 12 has 3.4).
    const counts = (/** @type {string} */ folder) => ours === folder || others.includes(name) || exists(join(folder, 'kube-apiserver'));
    const folder = searched.find((each) => exists(join(each, name)) && counts(each));
    if (folder !== undefined) found[name] = join(folder, name);
  }
  return { found, missing: wanted.filter((name) => found[name] === undefined) };
}

/**
 * Returns the programs that exist, without building any.
 * @param {readonly KubernetesProgram[]} wanted
 * @param {NodeJS.ProcessEnv} [env]
 */
export function findKubernetes(wanted, env = process.env) {
  return choosePrograms(wanted, programFolders(env, process), isProgram);
}

/**
 * Finds the programs, or builds those that are missing into the cache.
 * @param {readonly KubernetesProgram[]} [wanted]
 * @returns {Promise<Record<string, string>>} name -> path
 * @throws {SetupError}
 */
export async function ensureKubernetes(wanted = controlPlanePrograms) {
  const before = findKubernetes(wanted);
  if (before.missing.length === 0) return complete(before);
  const folder = programCache(process.env, process);
  await withLock(
    join(cacheDirectory(), 'locks', `kubernetes-${basename(folder)}`),
    async () => {
      mkdirSync(folder, { recursive: true });
      // This process holds the lock, so the temporary folders are from a setup that was killed.
      for (const name of namesIn(folder).filter((each) => each.startsWith('.')))
        rmSync(join(folder, name), { recursive: true, force: true });
      await buildKubernetes(findKubernetes(wanted).missing, folder);
    },
    // Another setup may be building all programs, which takes minutes.
    { deadline: 3_600_000 },
  );
  return complete(findKubernetes(wanted));
}

/** @param {ReturnType<typeof choosePrograms>} programs */
function complete({ found, missing }) {
  if (missing.length > 0)
    throw new SetupError(`${missing.join(', ')} could not be installed.`, 'set KUBEBUILDER_ASSETS to a folder with these programs');
  return /** @type {Record<string, string>} */ (found);
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function namesIn(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}
