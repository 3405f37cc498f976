// The size of functions, classes and folders: what outgrows it has more than one purpose.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { parseSync } from 'vite';
import { sourceFiles } from './source-files.ts';

const maxLines = 60;
/** What renders has its markup too. */
const maxMarkupLines = 120;
const maxMembers = 20;
const maxFiles = 20;

/** Its members are what users of the package call: grouping them would break their programs. */
const exemptClass = 'packages/client/src/room-client.ts: RoomClient';

type Name = { type: string; name?: string };
type Node = {
  type: string;
  start: number;
  end: number;
  id?: Name | null;
  key?: Name;
  kind?: string;
  accessibility?: string | null;
  body?: { body?: Node[] };
};

const files = sourceFiles().filter(({ path }) => !path.includes('/generated/'));
const isTest = (path: string) => /\.(?:test|bench)\.ts$/.test(path);
const sources = files.filter(({ path }) => !isTest(path));

function isPublic({ type, key, kind, accessibility }: Node): boolean {
  return type !== 'StaticBlock' && kind !== 'constructor' && key?.type !== 'PrivateIdentifier' && accessibility !== 'private';
}

/** @returns each as `path: name`, with its size */
function oversized(path: string, text: string): { functions: Map<string, number>; classes: Map<string, number> } {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new SyntaxError(`${path}: ${errors[0].message}`);
  const functions = new Map<string, number>();
  const classes = new Map<string, number>();
  const visit = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, name);
    if (typeof node !== 'object' || node === null || !('type' in node)) return;
    const { type, start, end, id, key, body } = node as Node;
    const own = id?.name ?? key?.name ?? name;
    if (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)) {
      const lines = text.slice(start, end).split('\n').length;
      if (lines > (path.endsWith('.tsx') ? maxMarkupLines : maxLines)) functions.set(`${path}: ${own}`, lines);
    }
    if (/^Class(?:Declaration|Expression)$/.test(type)) {
      const members = new Set((body?.body ?? []).filter(isPublic).map((member) => member.key?.name)).size;
      if (members > maxMembers) classes.set(`${path}: ${own}`, members);
    }
    for (const child of Object.values(node)) visit(child, own);
  };
  visit(program, '');
  return { functions, classes };
}

const found = sources.map(({ path, text }) => oversized(path, text));

test(`no function has more than ${maxLines} lines, none with markup more than ${maxMarkupLines}`, () => {
  assert.deepEqual(
    found.flatMap(({ functions }) => [...functions.keys()]),
    [],
  );
});

test(`no class has more than ${maxMembers} public members`, () => {
  assert.deepEqual(
    found.flatMap(({ classes }) => [...classes.keys()]),
    [exemptClass],
  );
});

test(`no folder has more than ${maxFiles} files, tests not counted`, () => {
  const counts = new Map<string, number>();
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  assert.deepEqual(
    [...counts].filter(([, count]) => count > maxFiles),
    [],
  );
});

test('the rules find what is too large', () => {
  const long = `class Big {\n  run() {\n${'    next();\n'.repeat(60)}  }\n}\n`;
  assert.deepEqual([...oversized('x.ts', long).functions], [['x.ts: run', 62]]);
  const wide = `class Wide {\n${Array.from({ length: 21 }, (_, index) => `  m${index} = 1;\n  #p${index} = 1;\n`).join('')}}\n`;
  assert.deepEqual([...oversized('x.ts', wide).classes], [['x.ts: Wide', 21]]);
  assert.equal(oversized('x.tsx', `function Page() {\n${'  next();\n'.repeat(100)}}\n`).functions.size, 0);
});
