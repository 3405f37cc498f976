// Go programs: builds the examples in Go for their tests.

import { join } from 'node:path';
import { ensureGoProgram } from '../go-build.mjs';
import { nodeModules } from '../paths.mjs';

const buildTimeoutMs = 900_000;

/** @param {string} name folder in examples */
const programOf = (name) => join(nodeModules, `.mediarooms-${name}`);
/** The programs. */
export const goClient = programOf('go-client');
export const goWhip = programOf('go-whip');
export const goAccessToken = programOf('go-access-token');
export const goWhep = programOf('go-whep');

/**
 * Builds the programs that are missing or outdated.
 * @throws {import('../steps.mjs').SetupError}
 */
export async function ensureGoPrograms() {
  for (const name of ['go-client', 'go-whip', 'go-whep', 'go-access-token']) {
    const source = `examples/${name}`;
    await ensureGoProgram({
      ...{ source, output: programOf(name), goVersion: '1.25', lock: name, text: `building ${source} (once; about a minute)` },
      env: { GOFLAGS: '-mod=readonly -buildvcs=false' },
      deadline: buildTimeoutMs,
    });
  }
}
