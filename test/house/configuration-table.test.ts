// Configuration page: docs/reference/configuration.md matches the table that the node reads.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { fileSchema } from '../../node/config/settings.ts';
import { type ReloadableVariable, type Row, reloadableRows, staticVariables } from '../../node/config/variables.ts';

const page = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const document = await page('reference/configuration.md');
const howTo = await page('how-to/configure.md');
const code = (text: string | undefined) => (text === undefined ? '' : `\`${text}\``);

function documented(): string[][] {
  const rows = document.split('\n').filter((line) => line.startsWith('| SVC_'));
  return rows.map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
}

function expected(name: string, row: Row | ReloadableVariable): string[] {
  const isDefault = row.default === undefined ? (row.derived ?? 'none') : code(row.default);
  const path = 'path' in row ? row.path : undefined;
  return [`SVC_${name}`, path === undefined ? '' : 'R', isDefault, code(row.image), code(path), row.meaning];
}

describe('docs/reference/configuration.md', () => {
  it('has exactly one row per variable, with default, image, R mark, name in files and meaning as in the code', () => {
    const rows = [
      ...Object.entries(staticVariables).map(([name, row]) => expected(name, row)),
      ...reloadableRows.map((row) => expected(row.name, row)),
    ];
    const byName = (one: string[], other: string[]) => (one[0] ?? '').localeCompare(other[0] ?? '');
    assert.deepEqual(documented().sort(byName), rows.sort(byName));
  });

  it('announces the end of the LEGACY_ prefix with 0.8.0', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
    const reader = await readFile(new URL('../../node/env.ts', import.meta.url), 'utf8');
    const [major = 0, minor = 0] = version.split('.').map(Number);
    assert.equal(reader.includes('LEGACY_'), major === 0 && minor < 8);
  });

  it('shows an example file with valid names', () => {
    const example = /```yaml\n([\s\S]*?)```/.exec(howTo)?.[1] ?? '';
    const result = fileSchema.safeParse(parse(example));
    const unknown = result.error?.issues.filter(({ code: kind }) => kind === 'unrecognized_keys') ?? [];
    assert.notEqual(example, '');
    assert.deepEqual(unknown, []);
  });

  it('lists every leaf of the file schema in the table', () => {
    const leaves = Object.entries(fileSchema.shape).flatMap(([name, schema]) => {
      const inner = 'unwrap' in schema ? schema.unwrap() : schema;
      return 'shape' in inner ? Object.keys(inner.shape).map((leaf) => `${name}.${leaf}`) : [name];
    });
    assert.deepEqual(leaves.sort(), reloadableRows.map(({ path }) => path).sort());
  });
});
