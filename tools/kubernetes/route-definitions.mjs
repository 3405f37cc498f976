// CRDs of routes for the test cluster: copies the released files of the Gateway API and of Traefik from their Go modules into the cache.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';
import { traefikModule, traefikVersion } from './versions.mjs';

/** The version of the Gateway API that our Traefik supports. */
const gatewayApiVersion = '1.3.0';

const downloadTimeoutMs = 300_000;

/**
 * @typedef {object} Definitions
 * @property {string} name of the cached file
 * @property {string} module Go module with its version
 * @property {(folder: string) => readonly string[]} files YAML files in the folder of the module
 */

/** @type {readonly Definitions[]} */
const definitions = [
  {
    name: `gateway-api-${gatewayApiVersion}.yaml`,
    module: `sigs.k8s.io/gateway-api@v${gatewayApiVersion}`,
    files: (folder) => {
      const standard = join(folder, 'config', 'crd', 'standard');
      const names = readdirSync(standard).filter((name) => name.endsWith('.yaml'));
      return names.map((name) => join(standard, name));
    },
  },
  {
    name: `traefik-${traefikVersion}.yaml`,
    module: `${traefikModule}@${traefikVersion}`,
    files: (folder) => [join(folder, 'docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml')],
  },
];

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string[]} paths of the YAML files, which may not exist yet
 */
export function routeDefinitions(env = process.env) {
  return definitions.map(({ name }) => join(cacheDirectory(env), 'kubernetes', name));
}

/**
 * Downloads the definitions that are not cached.
 * @throws {SetupError}
 */
export async function ensureRouteDefinitions() {
  for (const [index, path] of routeDefinitions().entries()) {
    const wanted = definitions[index];
    if (wanted === undefined || existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    await step(`downloading the CRDs of ${wanted.module}`, () => copyDefinitions(wanted, path));
  }
}

/**
 * @param {Definitions} wanted
 * @param {string} path
 */
async function copyDefinitions({ module, files }, path) {
  const options = { cwd: dirname(path), env: { ...process.env, GOWORK: 'off' }, deadline: downloadTimeoutMs };
  const { code, output } = await runWithRetry(() => run('go', ['mod', 'download', '-json', module], options));
  const folder = /"Dir": "([^"]+)"/.exec(output)?.[1];
  if (code !== 0 || folder === undefined) {
    throw new SetupError(
      `${module} could not be downloaded from the Go module proxy: ${lastError(output)}`,
      `set GOPROXY to a reachable proxy, or save the CRDs of that release as ${path}`,
    );
  }
  const partial = `${path}.${process.pid}`;
  writeFileSync(
    partial,
    files(folder)
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n---\n'),
  );
  renameSync(partial, path);
}
