// Bundles of the libraries that consist of many files: the process of each test file imports them as one file each, instead of 1,500
// modules. A test run starts several hundred such processes, and each would spend 0.2 s more on it, with the client for Kubernetes 1.3 s.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { ensureBuild } from '../../builds.mjs';
import { bundle } from '../../images/build-node.mjs';
import { usedClassesOnly } from '../../images/build-operator.mjs';
import { bundledLibrariesVariable, root } from '../../paths.mjs';

const folder = 'node_modules/.cache/libraries';
const recipe = 'tools/test-runner/libraries/library-bundles.mjs';

/**
 * Specifiers, and the only exports if the library has hundreds that nothing imports: its other modules are left out. Libraries that share
 * modules must be in this list together, because a bundle has its own instance of them. Not ajv: it writes the text of its functions into
 * the code that it generates, and esbuild renames some.
 * @type {Readonly<Record<string, readonly string[] | undefined>>}
 */
const libraries = {
  '@kubernetes/client-node': ['HttpMethod', 'KubeConfig', 'RequestContext'],
  '@opentelemetry/api': undefined,
  '@opentelemetry/exporter-trace-otlp-http': undefined,
  '@opentelemetry/resources': undefined,
  '@opentelemetry/sdk-trace-base': undefined,
  '@peculiar/x509': undefined,
  jose: undefined,
  mediasoup: undefined,
  'mediasoup/ortc': undefined,
  'prom-client': undefined,
  undici: undefined,
  yaml: undefined,
  zod: undefined,
};

/**
 * Builds them if a library or its version changed since the last build.
 * @returns {Promise<NodeJS.ProcessEnv>} variables of the test files
 */
export async function ensureLibraries() {
  await ensureBuild({
    name: 'the libraries for tests',
    recipe,
    sources: ['package.json', 'tools/images/build-node.mjs', 'tools/images/build-operator.mjs', recipe],
    output: folder,
    command: [recipe],
    script: `node ${recipe}`,
  });
  return { [bundledLibrariesVariable]: join(root, folder) };
}

async function write() {
  const output = join(root, folder);
  // Chunks have new names.
  rmSync(output, { recursive: true, force: true });
  mkdirSync(join(output, 'entries'), { recursive: true });
  /** @type {Record<string, string>} files by specifier */
  const files = {};
  for (const [library, some] of Object.entries(libraries)) {
    // Node.js finds the exports of CommonJS modules too.
    const names = some ?? Object.keys(await import(library)).filter((name) => !['module.exports', '__esModule'].includes(name));
    const file = `${library.replaceAll(/[^\w-]+/g, '_')}.mjs`;
    writeFileSync(join(output, 'entries', file), `export { ${names.join(', ')} } from '${library}';\n`);
    files[library] = file;
  }
  await bundle({
    entryPoints: Object.values(files).map((file) => join(output, 'entries', file)),
    outdir: output,
    outExtension: { '.js': '.mjs' },
    plugins: [usedClassesOnly],
  });
  writeFileSync(join(output, 'libraries.json'), JSON.stringify(files));
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? '')).href) await write();
