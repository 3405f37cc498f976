// Image registry of a release: pushes each image for all of its architectures under one name.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildah } from '../images/store.mjs';

/**
 * @typedef {object} ImageRegistry
 * @property {string} path host and folder, for example `ghcr.io/mediarooms`
 * @property {boolean} plainHttp true if it has no TLS
 */

/**
 * @param {string} address `ghcr.io/mediarooms`, or `http://127.0.0.1:5000/mediarooms` for a registry without TLS
 * @returns {ImageRegistry}
 */
export function imageRegistry(address) {
  const [, scheme, path = ''] = /^(https?:\/\/)?(.+?)\/*$/.exec(address) ?? [];
  return { path, plainHttp: scheme === 'http://' };
}

/**
 * @param {string} name of the image, for example `node`
 * @param {string} version
 * @param {readonly string[]} archives paths of OCI archives, one of each architecture
 * @param {ImageRegistry} registry
 * @returns {Promise<string>} its name with the digest of the index
 */
export async function pushImage(name, version, archives, { path, plainHttp }) {
  const list = `localhost/mediarooms-release-${name}-${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-push-'));
  try {
    await buildah(['manifest', 'create', list]);
    for (const archive of archives) await buildah(['manifest', 'add', list, `oci-archive:${archive}`]);
    const digestFile = join(folder, 'digest');
    const options = ['--all', '--format=oci', `--tls-verify=${!plainHttp}`, `--digestfile=${digestFile}`];
    await buildah(['manifest', 'push', ...options, list, `docker://${path}/${name}:${version}`]);
    return `${path}/${name}@${readFileSync(digestFile, 'utf8').trim()}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await buildah(['rmi', '--force', list]).catch(() => {});
  }
}
