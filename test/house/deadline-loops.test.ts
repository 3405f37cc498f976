// Waiting in tests: no polling loops and no assertions on elapsed time; eventually() waits, assertPrompt() checks promised times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from './source-files.ts';
import { strays } from './waiting.ts';

/** Files with an exception, and the reason. Benchmarks are about time as a whole. */
const named: Record<string, string> = {
  'test/kit/eventually.ts': 'implements the wait',
  'test/kit/turns.ts': 'runs turns of the event loop',
  'test/kit/pace.ts': 'implements repeated and scheduled actions',
  'test/kit/promised-time.ts': 'implements the assertion',
  'test/kit/browser/client-page.ts': 'page code cannot import the kit: stops waiting for a frame',
  'test/kit/kube/network/service-ports.ts': 'polls a port while the Service exists',
  'test/browser/console-kit.ts': 'page code is text: listens for a while',
  'test/browser/guest.test.ts': 'page code is text: reads a meter for a while',
};

const files = sourceFiles(['test']).filter(({ path }) => !path.startsWith('test/bench/') && !path.startsWith('test/house/'));

test('no test polls in a loop or asserts an unpromised bound of elapsed time', () => {
  assert.deepEqual(
    files.filter(({ path }) => !(path in named)).flatMap(({ path, text }) => strays(path, text)),
    [],
  );
});

test('each file with an exception still needs it', () => {
  const clean = Object.keys(named).filter((name) => {
    const file = files.find(({ path }) => path === name);
    return file === undefined || strays(name, file.text).length === 0;
  });
  assert.deepEqual(clean, []);
});

test('polling loops and time bounds are found in every layout', () => {
  for (const code of [
    "for (const end = Date.now() + 60_000; !(await holds()); await sleep(50)) assert.ok(Date.now() < end, 'no');",
    'while (!holds() && performance.now() < deadline) await look();',
    'if (performance.now() - started > timeoutMs) throw new Error(what);',
    'if (deadline - Date.now() <= 0) throw new Error(what);',
    'while (!(await there())) await new Promise((resolve) => setTimeout(resolve, 10));',
    'while (count < most()) await sleep(20);',
    'while (count < 3) await new Promise(setImmediate);',
    'for (let tries = 0; !answered(); tries += 1) {\n  send(probe);\n  await sleep(5);\n}',
    'for (let tries = 0; tries < 9; tries += 1) {\n  if (await answered()) break;\n  await sleep(5);\n}',
    'for (;;) {\n  const found = find();\n  if (found) return found;\n  await new Promise((resolve) => waiting.add(resolve));\n}',
    "while (sockets.length === 0)\n  await once(server, 'connection');",
    'do {\n  await sleep(10);\n} while (!seen());',
    'for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));',
    'page.evaluate("while (!seen()) await new Promise((resolve) => setTimeout(resolve, 10));");',
    'assert.ok(performance.now() - began < 5_000);',
    'assert.ok(took > 100 && took < 15_000);',
    'assert.ok(seen.took < 15_000);',
    'const time = performance.now() - began;\nassert.ok(\n  time < 900,\n);',
    'const since = stopwatch();\nassert.ok(900 > since());',
  ])
    assert.notDeepEqual(strays('x', `async () => {\n${code}\n};`), [], code);
  for (const code of [
    'const since = () => performance.now();',
    'assert.ok(took > 2_500);',
    'const later = Date.now() + 1_000 * hours;',
    'for (let second = 0; second < 10; second += 1) {\n  send();\n  await sleep(20);\n}',
    'for (const size of sizes) {\n  await grow(size);\n  await sleep(20);\n}',
    'for (let next = await take(); next; next = await take()) done.push(next);',
    'while (!signal.aborted) {\n  await list();\n  await sleep(100);\n}',
  ])
    assert.deepEqual(strays('x', `async () => {\n${code}\n};`), [], code);
});
