// CRDs of the Gateway API for the test cluster: copies the released files from the project's Go module into the cache directory.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';

/** The version that our Traefik supports. */
const gatewayApiVersion = '1.3.0';

const downloadTimeoutMs = 300_000;

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} path of the YAML file, which may not exist yet
 */
export function gatewayDefinitions(env = process.env) {
  return join(cacheDirectory(env), 'kubernetes', `gateway-api-${gatewayApiVersion}.yaml`);
}

/**
 * Downloads the definitions unless they are cached.
 * @throws {SetupError}
 */
export async function ensureGatewayDefinitions() {
  const path = gatewayDefinitions();
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  await step('downloading the Gateway API definitions', async () => {
    const module = `sigs.k8s.io/gateway-api@v${gatewayApiVersion}`;
    const options = { cwd: dirname(path), env: { ...process.env, GOWORK: 'off' }, deadline: downloadTimeoutMs };
    const { code, output } = await runWithRetry(() => run('go', ['mod', 'download', '-json', module], options));
    const folder = /"Dir": "([^"]+)"/.exec(output)?.[1];
    if (code !== 0 || folder === undefined) {
      throw new SetupError(
        `${module} could not be downloaded from the Go module proxy: ${lastError(output)}`,
        `set GOPROXY to a reachable proxy, or save the file standard-install.yaml of that release as ${path}`,
      );
    }
    const standard = join(folder, 'config', 'crd', 'standard');
    const documents = readdirSync(standard)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => readFileSync(join(standard, name), 'utf8'));
    const partial = `${path}.${process.pid}`;
    writeFileSync(partial, documents.join('\n---\n'));
    renameSync(partial, path);
  });
}
