// Test file runner: runs one test file in a separate process and returns its result.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';

import { pinnedNode, root, testFileVariable, timeoutVariable } from '../paths.mjs';
import { run } from '../steps.mjs';
import { sum } from './layers.mjs';
import { readSecrets, SecretLeakScanner, secretsVariable } from './secret-leak-scan.mjs';
import { TestGroup } from './test-group.mjs';

/**
 * @typedef {import('./outcome-reporter.mjs').BatchedFile} BatchedFile
 *
 * @typedef {object} FileResult
 * @property {number} passed
 * @property {number} failed a printed secret counts as a failed test
 * @property {number} skipped
 * @property {string[]} failures the failed tests, each with location and error
 * @property {readonly BatchedFile[]} [files] of a batch: results of the files that ended
 * @property {string} output output of the file, and its tests one by one
 * @property {number} milliseconds
 * @property {number | undefined} computed CPU time of the file and all its child processes, in milliseconds; undefined if not measurable
 * @property {string[]} left commands that the file left running; they were killed
 */

/** Longer output of a file loses its beginning, in characters. */
const keptOutput = 16 * 1024 * 1024;
/** Grace period after the timeout of a file, in milliseconds: its process exits on its own until then. */
const grace = 10_000;

/**
 * A separate network namespace: Chromium aborts loads with ERR_NETWORK_CHANGED when an interface appears or disappears, and some ports are
 * the same for all files. The interface and the default route let a browser think that it is online.
 */
const inOwnNetwork = [
  ...['unshare', '--net', 'sh', '-ec'],
  [
    'ip link set lo up',
    'ip link add eth0 type veth peer name far0',
    ...['eth0', 'far0'].map((device) => `ip link set ${device} addrgenmode none up`),
    'ip addr add 192.0.2.2/24 dev eth0',
    'ip route add default via 192.0.2.1',
    'exec "$@"',
  ].join('\n'),
  'sh',
];

/**
 * @param {object} options
 * @param {string} options.file absolute path
 * @param {readonly string[]} [options.batch] absolute paths of the files that it runs
 * @param {number} options.testTimeout of one test, in milliseconds
 * @param {number} options.fileTimeout of the file, in milliseconds
 * @param {NodeJS.ProcessEnv} options.env
 * @param {boolean} [options.ownNetwork] run in a separate network namespace if permitted
 * @param {(line: string) => void} [options.onLine] receives each line of output at once
 * @returns {Promise<FileResult>}
 */
export async function runTestFile({ file, batch, testTimeout, fileTimeout, env, ownNetwork, onLine }) {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-test-'));
  const started = performance.now();
  const group = TestGroup.make();
  try {
    const [outcome, secrets] = [join(folder, 'outcome.json'), join(folder, 'secrets')];
    const command = [
      ...(group?.wrap ?? []),
      ...(ownNetwork && process.platform === 'linux' && process.getuid?.() === 0 ? inOwnNetwork : []),
      pinnedNode,
      ...['--import', ours('libraries/use-library-bundles.mjs')],
      ...['--import', ours('test-file-timeout.mjs'), `--test-timeout=${testTimeout}`],
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${ours('outcome-reporter.mjs')}`, `--test-reporter-destination=${outcome}`],
      file,
      ...(batch ?? []),
    ];
    const runnerEnv = { [testFileVariable]: file, [timeoutVariable]: String(fileTimeout), [secretsVariable]: secrets };
    const { code, output } = await run(command[0] ?? '', command.slice(1), {
      env: { ...env, ...runnerEnv },
      cwd: root,
      deadline: fileTimeout + grace,
      keep: keptOutput,
      onLine,
    });
    const milliseconds = performance.now() - started;
    const computed = group?.computed;
    const left = group?.close() ?? [];
    return { ...result(relative(root, file), code, outcome, secrets, output, batch), output, milliseconds, computed, left };
  } finally {
    group?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} name of the test file
 * @param {number} code exit code
 * @param {string} outcome file of the reporter; may be missing
 * @param {string} secrets file of the secrets that the tests recorded
 * @param {string} output
 * @param {readonly string[]} [batch]
 * @returns {Pick<FileResult, 'passed' | 'failed' | 'skipped' | 'failures' | 'files'>}
 */
function result(name, code, outcome, secrets, output, batch) {
  const search = new SecretLeakScanner(readSecrets(secrets));
  search.scan(output);
  const printed = search.found().map((message) => `${name}: ${message}`);
  const read = readOutcome(outcome);
  const { passed, failed, skipped, failures } = batch === undefined ? countsOf(read) : sumOf(read);
  const missing = batch?.length !== undefined && read.files.length < batch.length;
  // A file can fail without a failed test, for example if it is killed.
  const others = (failed === 0 && code !== 0) || missing ? [`${name} exited with code ${code}\n${output.slice(-2_000)}`] : [];
  return {
    passed,
    failed: failed + others.length + printed.length,
    skipped,
    failures: [...failures, ...others, ...printed],
    ...(batch && { files: read.files }),
  };
}

/**
 * @typedef {{ summary: import('./outcome-reporter.mjs').Outcome, files: BatchedFile[] }} ReadOutcome
 *
 * @param {ReadOutcome} outcome
 */
function countsOf({ summary: { counts, failures } }) {
  const { passed = 0, cancelled = 0, skipped = 0, todo = 0 } = counts;
  // node:test reports a failed hook of a file or suite, but neither counts it nor sets an exit code.
  const failed = Math.max((counts.failed ?? 0) + cancelled, failures.length);
  return { passed, failed, skipped: skipped + todo, failures };
}

/**
 * Without the tests that only mark the end of a file.
 * @param {ReadOutcome} outcome
 */
function sumOf({ summary, files }) {
  // Without a summary the process ended early.
  const failures = summary.failures.length > 0 ? summary.failures : files.flatMap((file) => file.failures);
  return { ...sum(files), failed: Math.max(sum(files).failed, failures.length), failures };
}

/**
 * @param {string} file
 * @returns {ReadOutcome}
 */
function readOutcome(file) {
  /** @type {ReadOutcome} */
  const outcome = { summary: { counts: {}, failures: [] }, files: [] };
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  // A line without an end was not written completely.
  for (const line of text.split('\n').slice(0, -1)) {
    const read = JSON.parse(line);
    if ('path' in read) outcome.files.push(read);
    else outcome.summary = read;
  }
  return outcome;
}

/**
 * @param {string} file in this folder
 * @returns {string} a file: URL, which --import and --test-reporter accept on every system
 */
function ours(file) {
  return new URL(file, import.meta.url).href;
}
