// Image contents: inspects an image of the local store and lists its packages.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';
import { billOfMaterials, debianComponents, npmComponent, npmComponents } from '../release/sbom.mjs';
import { buildah } from './store.mjs';

/**
 * Adds the bill of materials to the image: /usr/share/sbom/<name>.cdx.json. It has no digest, because the digest depends on the file.
 * @param {string} image its name, with a tag
 * @param {number} epoch seconds
 */
export async function addBill(image, epoch) {
  const [name = '', version = ''] = image.split(/:(?=[^:]*$)/);
  const container = (await buildah(['from', '--pull=never', image])).trim();
  try {
    const rootfs = (await buildah(['mount', container])).trim();
    const folder = join(rootfs, 'usr/share/sbom');
    const bill = billOfMaterials({ name, version }, componentsIn(rootfs));
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    writeFileSync(join(folder, `${name.split('/').at(-1)}.cdx.json`), `${JSON.stringify(bill, undefined, 2)}\n`, { mode: 0o644 });
    await buildah(['commit', '--quiet', '--format=docker', `--timestamp=${epoch}`, container, image]);
  } finally {
    await buildah(['rm', container]);
  }
}

/**
 * @param {string} image its name, with a tag
 * @param {string} digest of its manifest
 * @returns {Promise<object>} its bill of materials, see billOfMaterials
 */
export async function contentsOf(image, digest) {
  const [name = '', version = ''] = image.split(/:(?=[^:]*$)/);
  const container = (await buildah(['from', '--pull=never', image])).trim();
  try {
    const rootfs = (await buildah(['mount', container])).trim();
    return billOfMaterials({ name, version, digest }, componentsIn(rootfs));
  } finally {
    await buildah(['rm', container]);
  }
}

/**
 * @param {string} rootfs
 * @returns {import('../release/sbom.mjs').Component[]}
 */
function componentsIn(rootfs) {
  const release = /^VERSION_ID="?([\d.]+)/m.exec(readFileSync(join(rootfs, 'etc/os-release'), 'utf8'))?.[1] ?? 'unknown';
  const node = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages['node_modules/node'].version;
  const bundled = join(rootfs, 'app/packages.json');
  return [
    ...debianComponents(readFileSync(join(rootfs, 'var/lib/dpkg/status'), 'utf8'), release),
    ...npmComponents(join(rootfs, 'app/node_modules')),
    ...(existsSync(bundled) ? JSON.parse(readFileSync(bundled, 'utf8')).map(npmComponent) : []),
    { type: 'application', name: 'node', version: node, purl: `pkg:generic/node@${node}`, license: 'MIT' },
  ];
}
