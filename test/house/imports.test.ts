// Import rules: allowed directions between folders, no import cycles, and one folder per library.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, type SourceFile, sourceFiles } from './source-files.ts';

const files = sourceFiles(['api', 'node', 'packages', 'operator', 'crds', 'tracing', 'tools']);

/** Independent folders under node/: they may only meet in rooms/ and in the composition (files directly under node/). */
const siblings = [
  'media',
  'components',
  'storage',
  'cluster',
  'signaling',
  'http',
  'events',
  'metrics',
  'tracing',
  'turn',
  'whip',
  'livekit',
];
/** Leaves import only each other; every folder may import them. */
const leaf = /^node\/(?:common\/|env\.ts$)/;
/** Imports between independent folders that the architecture allows. */
const allowed: readonly (readonly [from: string, to: string])[] = [['components', 'storage']];

/** Request and response types of the REST API. */
const restTypes = 'packages/server-sdk/src/generated/schemas.ts';
/** What the console uses of the SDK: the table of operations with its types, and none of the code that sends requests. */
const restFiles = [
  restTypes,
  'packages/server-sdk/src/generated/operations.ts',
  'packages/server-sdk/src/generated/request-path.ts',
  'packages/server-sdk/src/operation-target.ts',
];

/** Libraries that only one folder may import. */
const homes: readonly (readonly [library: string, places: readonly RegExp[]])[] = [
  ['mediasoup', [/^node\/media\//]],
  ['express', [/^node\/http\//]],
  ['ws', [/^node\/(?:signaling|websocket)\//, /^node\/cluster\/proxy/]],
  ['@opentelemetry', [/^tracing\//]],
  ['prom-client', [/^(node|operator)\/metrics\//]],
  ['@aws-sdk/client-s3', [/^node\/storage\//]],
  ['@kubernetes/client-node', [/^operator\/kube\//]],
  ['diff', [/^operator\/dry-run\//]],
  ['@peculiar/x509', [/^operator\/clusters\//]],
  ['node-av', [/^node\/components\/ffmpeg\//]],
  ['sip.js', [/^node\/components\/sip\//]],
  ['sdp-transform', [/^node\/sdp\//]],
  ['h264-profile-level-id', [/^node\/sdp\//]],
  ['@livekit/protocol', [/^node\/livekit\//]],
  ['mediasoup-client', [/^packages\/client\//]],
  ['react', [/^packages\/console\//, /^packages\/client\//]],
  ['@tanstack/react-query', [/^packages\/console\/src\/(?:hooks\/|app\.tsx$)/]],
  ['@tanstack/react-virtual', [/^packages\/console\/src\/components\//]],
];

function folderOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function violation(file: SourceFile, target: string): string | undefined {
  if (!/^(api|node|packages|operator|crds|tools|test)\//.test(target)) return undefined;
  if (target.startsWith('test/')) return 'production code must not import tests';
  if (file.path.startsWith('tools/')) return target.startsWith('packages/') ? 'tools must not import packages' : undefined;
  if (file.path.startsWith('packages/')) return packageError(file.path, target);
  if (/^(packages|tools)\//.test(target)) return 'api, node, operator and crds must not import packages or tools';
  if (file.path.startsWith('api/')) return target.startsWith('api/') ? undefined : 'the contract must not import other folders';
  if (file.path.startsWith('operator/')) return target.startsWith('node/') ? 'operator must not import node' : undefined;
  if (!file.path.startsWith('node/')) return undefined;
  if (target.startsWith('operator/')) return 'node must not import operator';
  if (leaf.test(file.path)) return /^(api|node\/rooms)\//.test(target) || leaf.test(target) ? undefined : 'a leaf may only import leaves';
  if (target.startsWith('api/')) return undefined;
  const from = folderOf(file.path);
  const to = folderOf(target);
  if (leaf.test(target) || from === to) return undefined;
  if (from === 'rooms') return 'rooms may only import leaves';
  if (to.endsWith('.ts') && siblings.includes(from)) return 'a folder must not import the composition';
  if (siblings.includes(from) && siblings.includes(to) && !allowed.some(([a, b]) => a === from && b === to))
    return `${from} must not import ${to}`;
  return undefined;
}

/** Packages are published separately; the console uses types of the REST API and the client library. */
function packageError(path: string, target: string): string | undefined {
  const [from, to] = [folderOf(path), folderOf(target)];
  if (restFiles.includes(target) && from === 'console') return undefined;
  return target.startsWith('packages/') && (from === to || (from === 'console' && to === 'client'))
    ? undefined
    : `a package must not import ${target}`;
}

test('every import is allowed by the architecture', () => {
  const violations = files.flatMap((file) =>
    file.imports.flatMap((target) => violation(file, target) ?? []).map((why) => `${file.path}: ${why}`),
  );
  assert.deepEqual(violations, []);
});

test('the console imports only the operations of the SDK and their types', () => {
  const imported = files.filter(({ path }) => restFiles.includes(path)).flatMap(({ imports }) => imports);
  assert.deepEqual(
    [...new Set(imported)].filter((target) => !restFiles.includes(target)),
    [],
  );

  const text = files.find(({ path }) => path === restTypes)?.text ?? assert.fail(`${restTypes} is not there`);
  const statements = text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split('\n')
    .filter((line) => /^[a-z]/.test(line));
  assert.ok(statements.length > 50);
  assert.deepEqual(
    statements.filter((line) => !line.startsWith('export type ')),
    [],
  );
});

test('no import cycle exists, types included', () => {
  const graph = new Map(files.map((file) => [file.path, file.imports]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) if (graph.has(target)) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  assert.deepEqual(cycles, []);
});

test('each library with one home is imported only there', () => {
  const violations = files.flatMap((file) =>
    homes.flatMap(([library, places]) =>
      file.imports.some((name) => name === library || name.startsWith(`${library}/`)) && !places.some((place) => place.test(file.path))
        ? [`${file.path}: ${library}`]
        : [],
    ),
  );
  assert.deepEqual(violations, []);
});

test('a node imports only types of node:http: with values, Node.js loads undici', () => {
  const values = /^import (?!type )[^;]*? from 'node:http';/m;
  const violations = files.filter(({ path, text }) => /^(api|node|tracing)\//.test(path) && values.test(text));
  assert.deepEqual(
    violations.map(({ path }) => path),
    [],
  );
});

test('the environment is read in config.ts and env.ts only', () => {
  const readers = files.filter((file) => /\bprocess\.env\b/.test(file.text) && !/^tools\//.test(file.path)).map((file) => file.path);
  assert.deepEqual(
    readers.filter((path) => !/^(node|operator)\/(config|env)\.ts$/.test(path)),
    [],
  );
});

test('imports are found however they are written', () => {
  const text =
    "import a from './a.ts';\nimport type { B } from './b.ts';\nexport { c } from './c.ts';\nimport './d.css';\nawait import('./e.ts');\n// import f from './f.ts';";
  assert.deepEqual(importsOf(text), ['./a.ts', './b.ts', './c.ts', './d.css', './e.ts']);
});
