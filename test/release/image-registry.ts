// Local image registry of a test: docker-registry of Debian, which stores images and other OCI artifacts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../kit/eventually.ts';
import { Child } from '../kit/kube/child.ts';
import type { Scope } from '../kit/kube/scope.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { tempFolder } from '../kit/temp-folder.ts';

const startTimeoutMs = 60_000;

/**
 * @param ip of this computer
 * @param storage folder, which several registries may share
 * @returns its address, `ip:port`, without TLS and accounts. It ends with the scope.
 */
export async function startImageRegistry(scope: Scope, ip: string, storage: string): Promise<string> {
  const folder = tempFolder(scope);
  const address = `${ip}:${await freePort(ip)}`;
  const config = join(folder, 'config.json');
  // JSON is YAML.
  const files = { filesystem: { rootdirectory: storage } };
  writeFileSync(config, JSON.stringify({ version: 0.1, log: { level: 'warn' }, storage: files, http: { addr: address } }));
  const child = new Child(['docker-registry', 'serve', config], { log: join(folder, 'log') });
  scope.after(async () => void (await child.stop('SIGTERM')));
  const answers = () =>
    fetch(`http://${address}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(() => `docker-registry responds:\n${child.tail()}`, answers, { within: startTimeoutMs });
  return address;
}
