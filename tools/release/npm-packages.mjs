// npm packages of a release: packs and publishes the client library and the server SDK.

import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clientLibrary, ensureBuilds, serverSdk } from '../builds.mjs';
import { npmEnvironment } from '../dependencies.mjs';
import { lastError } from '../packages.mjs';
import { root } from '../paths.mjs';
import { run, SetupError } from '../steps.mjs';
import { isPrerelease, packageFolders } from './versions.mjs';

const npmTimeoutMs = 300_000;

/**
 * @typedef {object} Packed
 * @property {string} name
 * @property {string} version
 * @property {string} archive path
 * @property {string} integrity SHA-512 as npm writes it
 */

/**
 * @param {string} folder for archives and bills of materials
 * @returns {Promise<Packed[]>}
 */
export async function packPackages(folder) {
  for (const name of [clientLibrary, serverSdk]) await ensureBuilds(name);
  const packed = [];
  for (const path of packageFolders) {
    const output = await withLicense(join(root, path), (cwd) => npm(['pack', '--json', '--pack-destination', folder], { cwd }));
    const [{ name, version, filename, integrity }] = JSON.parse(output.slice(output.indexOf('[')));
    packed.push({ name, version, archive: join(folder, filename), integrity });
    const bill = await npm(['sbom', '--sbom-format=cyclonedx', '--omit=dev', `--workspace=${name}`, '--package-lock-only'], { cwd: root });
    writeFileSync(join(folder, `npm-${basename(path)}.cdx.json`), billOf(`${name}@${version}`, JSON.parse(bill.slice(bill.indexOf('{')))));
  }
  return packed;
}

/**
 * npm describes the whole checkout with the package as one of its components.
 * @param {string} id of the package
 * @param {{ metadata: { component: unknown }, components: { 'bom-ref': string }[], dependencies: { ref: string }[] }} bill of `npm sbom`
 * @returns {string} JSON of the bill of the package
 */
function billOf(id, bill) {
  const component = bill.components.find((each) => each['bom-ref'] === id);
  const components = bill.components.filter((each) => each !== component);
  const refs = new Set([id, ...components.map((each) => each['bom-ref'])]);
  const dependencies = bill.dependencies.filter(({ ref }) => refs.has(ref));
  return `${JSON.stringify({ ...bill, metadata: { ...bill.metadata, component }, components, dependencies }, undefined, 2)}\n`;
}

/**
 * npm packs a license only from the folder of the package.
 * @template T
 * @param {string} folder of a package
 * @param {(folder: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withLicense(folder, work) {
  const license = join(folder, 'LICENSE');
  copyFileSync(join(root, 'LICENSE'), license);
  try {
    return await work(folder);
  } finally {
    rmSync(license);
  }
}

/**
 * Publishes a package, unless the registry has it already: a release that failed halfway can be repeated.
 * @param {Packed} packed
 * @param {{ registry: string, provenance: boolean }} options provenance: a signed statement of the workflow that built it
 * @returns {Promise<string>} a message
 * @throws {SetupError} if the registry has another content under this version
 */
export async function publishPackage({ name, version, archive, integrity }, { registry, provenance }) {
  const id = `${name}@${version}`;
  const published = await run('npm', ['view', id, 'dist.integrity', `--registry=${registry}`], options({ cwd: root }));
  const other = published.code === 0 ? published.output.trim() : '';
  if (other === integrity) return `${id} is already published.`;
  if (other !== '') throw new SetupError(`The registry has another ${id}; a published version cannot be replaced.`, 'increase the version');
  const tag = isPrerelease(version) ? 'next' : 'latest';
  const flags = ['--access=public', `--tag=${tag}`, ...(provenance ? ['--provenance'] : [])];
  await npm(['publish', archive, `--registry=${registry}`, ...flags], { cwd: root });
  return `${id} is published with the tag ${tag}.`;
}

/** @param {import('../steps.mjs').RunOptions} more */
function options(more) {
  return { env: npmEnvironment(process.env), deadline: npmTimeoutMs, keep: 4 * 1024 * 1024, ...more };
}

/**
 * @param {string[]} args
 * @param {import('../steps.mjs').RunOptions} more
 */
async function npm(args, more) {
  const { code, output } = await run('npm', args, options(more));
  if (code !== 0) throw new SetupError(`npm ${args[0]} failed: ${lastError(output)}`, `npm ${args.join(' ')}`);
  return output;
}
