// Generated files are up to date: the SDK types and the generated pages of docs/reference.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonSchema } from '../../api/derive/json-schemas.ts';
import { root } from '../../tools/paths.mjs';
import { typeText } from '../../tools/reference/typescript.ts';
import { generatedFiles } from '../../tools/reference/write.ts';

test('every generated file matches the schemas; otherwise run npm run reference', async () => {
  const made = await generatedFiles();
  assert.ok(Object.keys(made).length >= 8);
  const stale = Object.entries(made).filter(
    ([path, text]) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text,
  );
  assert.deepEqual(
    stale.map(([path]) => path),
    [],
    'generated files are out of date: npm run reference',
  );
});

test('every link within a page targets one of its headings', () => {
  for (const path of ['docs/reference/rest-api.md', 'docs/reference/events.md']) {
    const text = readFileSync(join(root, path), 'utf8');
    const headings = new Set([...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase()));
    const links = [...text.matchAll(/\]\(#([^)]*)\)/g)].map(([, target = '']) => target);
    assert.ok(links.length > 0);
    assert.deepEqual(
      links.filter((link) => !headings.has(link)),
      [],
      path,
    );
  }
});

test('schemas convert to equivalent TypeScript types, and unknown constructs are rejected', () => {
  const text = (schema: JsonSchema) => typeText(schema).replace(/\s+/g, ' ');
  assert.equal(text({ type: ['string', 'null'] }), 'string | null');
  assert.equal(text({ type: 'array', items: { enum: ['a', 'b'] } }), '("a" | "b")[]');
  assert.equal(text({ anyOf: [{ $ref: '#/components/schemas/Room' }, { type: 'null' }] }), 'Room | null');
  assert.equal(
    text({ type: 'object', properties: { 'a-b': { type: 'integer' }, c: { const: 1 } }, required: ['c'] }),
    '{ "a-b"?: number; c: 1; }',
  );
  assert.equal(text({ type: 'object', additionalProperties: { type: 'boolean' } }), 'Record<string, boolean>');
  assert.throws(() => typeText({ not: { type: 'string' } }), /cannot be converted to TypeScript/);
  assert.throws(() => typeText({ type: 'array' }), /cannot be converted to TypeScript/);
});
