// The definitions of the Gateway API that a cluster of tests has, as its project releases them: out of its Go module, into the cache directory.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { lastError } from '../packages.mjs';
import { cacheDirectory } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';

/** The version that our Traefik is made for. */
const gatewayApiVersion = '1.3.0';

const downloadTimeoutMs = 300_000;

/**
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} path of the YAML file, which need not be there yet
 */
export function gatewayDefinitions(env = process.env) {
  return join(cacheDirectory(env), 'kubernetes', `gateway-api-${gatewayApiVersion}.yaml`);
}

/**
 * Gets them where they are not there yet.
 * @throws {SetupError}
 */
export async function ensureGatewayDefinitions() {
  const path = gatewayDefinitions();
  if (existsSync(path)) return;
  mkdirSync(dirname(path), { recursive: true });
  await step('getting the definitions of the Gateway API', async () => {
    const module = `sigs.k8s.io/gateway-api@v${gatewayApiVersion}`;
    const options = { cwd: dirname(path), env: { ...process.env, GOWORK: 'off' }, deadline: downloadTimeoutMs };
    const { code, output } = await runWithRetry(() => run('go', ['mod', 'download', '-json', module], options));
    const folder = /"Dir": "([^"]+)"/.exec(output)?.[1];
    if (code !== 0 || folder === undefined) {
      throw new SetupError(
        `${module} could not be got from Go's proxy: ${lastError(output)}`,
        `give Go a proxy that it reaches (GOPROXY), or put the file standard-install.yaml of that release to ${path}`,
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
