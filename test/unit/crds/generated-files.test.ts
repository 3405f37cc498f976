// The generated CRDs equal the output of `npm run crds`, and their descriptions explain each field.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { definitions, specAndStatus } from '../../../crds/crd-manifests.ts';
import { crdFieldRows } from '../../../crds/reference.ts';
import { mediaClusterSchema, roomSchema } from '../../../crds/types.ts';
import { generatedFiles } from '../../../crds/write.ts';
import { fieldsOf } from '../../kit/fields.ts';

describe('npm run crds', () => {
  for (const [path, text] of Object.entries(generatedFiles)) {
    it(`has written ${path}`, () => {
      assert.equal(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'), text, 'run npm run crds');
    });
  }

  it('writes the CRDs, their reference, and the schema and the page of the chart only', () => {
    const names = [
      'crds/room.yaml',
      'crds/mediacluster.yaml',
      'docs/reference/resources.md',
      'docs/reference/chart.md',
      'helm/values.schema.json',
    ];
    assert.deepEqual(Object.keys(generatedFiles), names);
  });
});

describe('The CRDs', () => {
  it('describe every field of spec and status', () => {
    const parts = [roomSchema, mediaClusterSchema].flatMap((schema) => Object.entries(specAndStatus(schema)));
    const rows = parts.flatMap(([part, schema]) => [{ path: part, schema }, ...crdFieldRows(schema, part)]);
    assert.ok(rows.length > 150, `${rows.length} fields were found`);
    assert.deepEqual(
      fieldsOf(
        rows.filter(({ schema }) => typeof schema.description !== 'string' || schema.description.length < 5),
        'path',
      ),
      [],
    );
  });

  it('have a message of one line for every rule', () => {
    const messages = [...JSON.stringify(definitions).matchAll(/"rule":"(?:[^"\\]|\\.)*","message":"((?:[^"\\]|\\.)*)"/g)].map(
      ([, message]) => message ?? '',
    );
    assert.ok(messages.length > 80, `${messages.length} rules were found`);
    assert.deepEqual(
      messages.filter((message) => !/^[a-zA-Z][^\n]{10,}$/.test(message)),
      [],
    );
  });
});
