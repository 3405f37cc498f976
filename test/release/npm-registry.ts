// Local npm registry of a test: Verdaccio, which also serves the packages of the registry that npm uses here.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinnedNode } from '../../tools/paths.mjs';
import { ensureVerdaccio } from '../../tools/release/verdaccio.mjs';
import { eventually } from '../kit/eventually.ts';
import { Child } from '../kit/kube/child.ts';
import type { Scope } from '../kit/kube/scope.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { runCommand } from '../kit/processes/command.ts';
import { tempFolder } from '../kit/temp-folder.ts';

const startTimeoutMs = 60_000;

/** @returns its URL; everyone may publish `@mediarooms/*`. It ends with the scope. */
export async function startNpmRegistry(scope: Scope): Promise<string> {
  const folder = tempFolder(scope);
  const upstream = (await runCommand(['npm', 'config', 'get', 'registry'])).stdout.trim();
  const config = join(folder, 'config.json');
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(verdaccioConfig(folder, upstream)));
  const url = `http://127.0.0.1:${await freePort()}/`;
  const program = await ensureVerdaccio();
  const child = new Child([pinnedNode, program, `--config=${config}`, `--listen=${url}`], { log: join(folder, 'log'), cwd: folder });
  scope.after(async () => void (await child.stop('SIGTERM')));
  const answers = () =>
    fetch(`${url}-/ping`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(() => `Verdaccio responds:\n${child.tail()}`, answers, { within: startTimeoutMs });
  return url;
}

function verdaccioConfig(folder: string, upstream: string) {
  const everyone = '$all';
  return {
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: { upstream: { url: upstream, timeout: '60s' } },
    packages: {
      '@mediarooms/*': { access: everyone, publish: everyone },
      '**': { access: everyone, proxy: 'upstream' },
    },
    log: { type: 'stdout', format: 'json', level: 'warn' },
  };
}
