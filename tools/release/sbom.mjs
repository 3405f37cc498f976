// Bill of materials of an image as a CycloneDX document: Debian packages, npm packages, Node.js.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Component
 * @property {'library' | 'application'} type
 * @property {string} name
 * @property {string} version
 * @property {string} purl https://github.com/package-url/purl-spec
 * @property {string} [license] license of the package as declared
 */

/**
 * @param {string} status content of /var/lib/dpkg/status
 * @param {string} release VERSION_ID of /etc/os-release
 * @returns {Component[]} the installed packages
 */
export function debianComponents(status, release) {
  return status.split('\n\n').flatMap((paragraph) => {
    /** @param {string} name */
    const field = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1] ?? '';
    if (!/ installed$/.test(field('Status'))) return [];
    const [name, version, architecture] = [field('Package'), field('Version'), field('Architecture')];
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${release}`;
    return [{ type: /** @type {const} */ ('library'), name, version, purl }];
  });
}

/**
 * @param {{ name: string, version: string, license?: string }} manifest content of its package.json
 * @returns {Component}
 */
export function npmComponent({ name, version, license }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { type: 'library', name, version, purl, ...(license !== undefined && { license }) };
}

/**
 * @param {string} folder a node_modules
 * @returns {Component[]} its packages, and the packages in their nested node_modules
 */
export function npmComponents(folder) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(folder, name)).map((inner) => join(name, inner)) : [name],
  );
  return names.flatMap((name) => {
    const manifest = join(folder, name, 'package.json');
    if (!existsSync(manifest)) return [];
    return [npmComponent(JSON.parse(readFileSync(manifest, 'utf8'))), ...npmComponents(join(folder, name, 'node_modules'))];
  });
}

/**
 * @param {{ name: string, version: string, digest?: string }} image
 * @param {readonly Component[]} components
 * @returns {object} CycloneDX 1.5, reproducible and therefore without serial number and time
 */
export function billOfMaterials(image, components) {
  const byPurl = new Map(components.map((component) => [component.purl, component]));
  const sorted = [...byPurl.values()].sort((one, other) => (one.purl < other.purl ? -1 : 1));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        'bom-ref': image.name,
        type: 'container',
        name: image.name,
        version: image.version,
        ...(image.digest !== undefined && { hashes: [{ alg: 'SHA-256', content: image.digest.replace(/^sha256:/, '') }] }),
        licenses: [{ expression: 'Apache-2.0' }],
      },
    },
    components: sorted.map(({ license, purl, ...component }) => ({
      'bom-ref': purl,
      ...component,
      purl,
      ...(license !== undefined && { licenses: [{ license: { name: license } }] }),
    })),
  };
}
