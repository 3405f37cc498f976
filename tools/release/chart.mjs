// Chart of a release: completes Chart.yaml with annotations of Artifact Hub, packages the chart and pushes it as an OCI artifact.

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { imageName, images } from '../images/plan.mjs';
import { ensureKubernetes } from '../kubernetes/kubernetes.mjs';
import { lastError } from '../packages.mjs';
import { root } from '../paths.mjs';
import { run, SetupError } from '../steps.mjs';
import { isPrerelease } from './versions.mjs';

const helmTimeoutMs = 300_000;

/**
 * @typedef {object} CustomResource
 * @property {string} kind
 * @property {string} name of the CRD
 * @property {string} version its storage version
 * @property {string} description
 */

/**
 * @param {string} chartYaml content of helm/Chart.yaml
 * @param {{ changes: readonly import('./changelog.mjs').Change[], crds: readonly CustomResource[] }} release
 * @returns {string} content of Chart.yaml with the annotations that differ in each release, see artifacthub.io/docs/topics/annotations/helm
 */
export function releasedChart(chartYaml, { changes, crds }) {
  const chart = parse(chartYaml);
  const list = images.map((image) => ({ name: image.name, image: imageName(image, chart.appVersion) }));
  const annotations = {
    ...chart.annotations,
    'artifacthub.io/prerelease': String(isPrerelease(chart.version)),
    'artifacthub.io/containsSecurityUpdates': String(changes.some(({ kind }) => kind === 'security')),
    'artifacthub.io/images': stringify(list),
    'artifacthub.io/crds': stringify(crds.map(({ kind, ...crd }) => ({ kind, displayName: kind, ...crd }))),
    'artifacthub.io/changes': stringify(changes, { lineWidth: 0 }),
  };
  return stringify({ ...chart, annotations }, { lineWidth: 0 });
}

/**
 * @param {string} text YAML of a CRD
 * @returns {CustomResource}
 */
export function customResource(text) {
  const { metadata, spec } = parse(text);
  const { name: version, schema } = spec.versions.find((/** @type {{ storage: boolean }} */ { storage }) => storage);
  return { kind: spec.names.kind, name: metadata.name, version, description: schema.openAPIV3Schema.description ?? spec.names.kind };
}

/**
 * Links of the chart to files outside of it become copies.
 * @param {string} folder for the archive
 * @param {readonly import('./changelog.mjs').Change[]} changes
 * @returns {Promise<string>} path of the archive
 */
export async function packageChart(folder, changes) {
  const work = mkdtempSync(join(tmpdir(), 'mediarooms-chart-'));
  try {
    const staged = join(work, 'mediarooms');
    cpSync(join(root, 'helm'), staged, { recursive: true, dereference: true });
    const crds = readdirSync(join(staged, 'crds')).map((name) => customResource(readFileSync(join(staged, 'crds', name), 'utf8')));
    const file = join(staged, 'Chart.yaml');
    writeFileSync(file, releasedChart(readFileSync(file, 'utf8'), { changes, crds }));
    const output = await helm(['package', staged, '--destination', folder]);
    const archive = /saved it to: (.+)$/m.exec(output)?.[1];
    if (archive === undefined) throw new SetupError(`helm package returned no path: ${lastError(output)}`);
    return archive;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * @param {string} archive path
 * @param {import('./registry.mjs').ImageRegistry} registry
 * @returns {Promise<string>} its name with digest, without `oci://`
 */
export async function pushChart(archive, { path, plainHttp }) {
  const output = await helm(['push', archive, `oci://${path}/charts`, ...(plainHttp ? ['--plain-http'] : [])]);
  const digest = /^Digest: (sha256:[0-9a-f]{64})$/m.exec(output)?.[1];
  if (digest === undefined) throw new SetupError(`helm push returned no digest: ${lastError(output)}`);
  return `${path}/charts/mediarooms@${digest}`;
}

/** @param {string[]} args */
async function helm(args) {
  const { helm: program } = await ensureKubernetes(['helm']);
  const { code, output } = await run(/** @type {string} */ (program), args, { deadline: helmTimeoutMs });
  if (code !== 0) throw new SetupError(`helm ${args[0]} failed: ${lastError(output)}`, `helm ${args.join(' ')}`);
  return output;
}
