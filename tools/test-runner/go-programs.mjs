// Go programs: builds the examples in Go for their tests; their modules come through the Go module proxy and are checked against go.sum.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourcesStamp } from '../builds.mjs';
import { withLock } from '../lock.mjs';
import { lastError } from '../packages.mjs';
import { checkoutLock, nodeModules, root } from '../paths.mjs';
import { runWithRetry } from '../retry.mjs';
import { run, SetupError, step } from '../steps.mjs';

const buildTimeoutMs = 900_000;

/** @param {string} name folder in examples */
const programOf = (name) => join(nodeModules, `.mediarooms-${name}`);
/** The programs. */
export const goClient = programOf('go-client');
export const goWhip = programOf('go-whip');
export const goAccessToken = programOf('go-access-token');

/**
 * Builds the programs that are missing or outdated.
 * @throws {SetupError}
 */
export async function ensureGoPrograms() {
  for (const name of ['go-client', 'go-whip', 'go-access-token']) await ensureGoProgram(name);
}

/** @param {string} name */
async function ensureGoProgram(name) {
  const source = `examples/${name}`;
  const program = programOf(name);
  const stampFile = `${program}-sources`;
  const stamp = sourcesStamp(root, [source]);
  await withLock(checkoutLock(name), async () => {
    if (existsSync(program) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
    if ((await run('go', ['version'], { deadline: 20_000 })).code !== 0) {
      throw new SetupError(`${source} requires Go 1.25 or newer, which is not on PATH.`, 'install Go (https://go.dev/dl)');
    }
    await step(`building ${source} (once; about a minute)`, async () => {
      const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=readonly -buildvcs=false' };
      const options = { cwd: join(root, source), env, deadline: buildTimeoutMs };
      const { code, output } = await runWithRetry(() => run('go', ['build', '-o', program, '.'], options));
      if (code === 0) return;
      throw new SetupError(`${source} could not be built: ${lastError(output)}`, 'set GOPROXY to a reachable proxy');
    });
    writeFileSync(stampFile, stamp);
  });
}
