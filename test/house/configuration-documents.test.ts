// Configuration documents: the example file of the how-to page, and the old prefix of variables.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { fileSchema } from '../../node/config/settings.ts';

const howTo = await readFile(new URL('../../docs/how-to/configure.md', import.meta.url), 'utf8');

describe('documents of the configuration', () => {
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
});
