// Finds the programs of Kubernetes that tests run, or gets them: envtest's folders, PATH, our cache, a build from Go modules, whose sums Go checks.

import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { withLock } from '../lock.mjs';
import { cacheDirectory } from '../paths.mjs';
import { SetupError } from '../steps.mjs';
import { buildKubernetes } from './build.mjs';
import { kubernetesVersion, programsRecipe } from './versions.mjs';

/** @typedef {import('./versions.mjs').KubernetesProgram} KubernetesProgram */

/** An API server, and the controllers that it needs to feel like a cluster. */
export const controlPlanePrograms = /** @type {const} */ (['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl']);

/** What a whole cluster needs besides, with what is installed into it. */
export const clusterPrograms = /** @type {const} */ ([
  ...controlPlanePrograms,
  'kubelet',
  'kube-proxy',
  'kube-scheduler',
  'coredns',
  'helm',
  'traefik',
]);

/** Which work with Kubernetes of any version. @type {readonly string[]} */
const others = ['coredns', 'helm', 'traefik', 'versitygw'];

/**
 * Where programs are looked for, best first.
 * @param {NodeJS.ProcessEnv} env
 * @param {{ platform: string, arch: string, list?: (folder: string) => string[] }} machine
 * @returns {string[]} folders; the last one is our cache, where what is missing is put
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
 * @returns {string} as Go names it
 */
export function goArchitecture(arch) {
  return arch === 'x64' ? 'amd64' : arch;
}

/**
 * Chooses among the programs that are there: all from one folder where one has them all, else each from the first that has it.
 * @param {readonly KubernetesProgram[]} wanted
 * @param {readonly string[]} folders best first
 * @param {(path: string) => boolean} exists
 * @returns {{ found: Partial<Record<KubernetesProgram, string>>, missing: KubernetesProgram[] }} found: paths
 */
export function choosePrograms(wanted, folders, exists) {
  const whole = folders.find((folder) => wanted.every((name) => exists(join(folder, name))));
  const searched = whole === undefined ? folders : [whole];
  const ours = folders.at(-1);
  /** @type {Partial<Record<KubernetesProgram, string>>} */
  const found = {};
  for (const name of wanted) {
    // What is not beside an API server is of any version: a user's kubectl, or a distribution's etcd (Debian 12 has 3.4).
    const counts = (/** @type {string} */ folder) => ours === folder || others.includes(name) || exists(join(folder, 'kube-apiserver'));
    const folder = searched.find((each) => exists(join(each, name)) && counts(each));
    if (folder !== undefined) found[name] = join(folder, name);
  }
  return { found, missing: wanted.filter((name) => found[name] === undefined) };
}

/**
 * The programs that are there, without getting any.
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
      // We hold the lock, so these are of a set-up that was killed.
      for (const name of namesIn(folder).filter((each) => each.startsWith('.')))
        rmSync(join(folder, name), { recursive: true, force: true });
      await buildKubernetes(findKubernetes(wanted).missing, folder);
    },
    // Another set-up may be building all of it, which takes its time.
    { deadline: 3_600_000 },
  );
  return complete(findKubernetes(wanted));
}

/** @param {ReturnType<typeof choosePrograms>} programs */
function complete({ found, missing }) {
  if (missing.length > 0)
    throw new SetupError(`${missing.join(', ')} could not be got.`, 'set KUBEBUILDER_ASSETS to a folder that has them');
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
