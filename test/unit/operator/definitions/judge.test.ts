// What is done about definitions that are there, old, young, or on their way out.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { roomDefinition, versionAnnotation } from '../../../../crds/definitions.ts';
import { type Definition, judge, versionOf, whyNotEstablished } from '../../../../operator/definitions/judge.ts';
import type { Stored } from '../../../../operator/kube/objects.ts';

const ours = roomDefinition as unknown as Definition;

function installed(version: string | undefined, more: object = {}): Stored<Definition> {
  const annotations: Record<string, string> = version === undefined ? {} : { [versionAnnotation]: version };
  return { ...ours, metadata: { name: 'x', uid: 'u', resourceVersion: '1', annotations, ...more } };
}

describe('judge()', () => {
  it('makes what is missing and replaces what is older or says no version', () => {
    assert.equal(judge(undefined, ours), 'create');
    for (const version of [undefined, '0', '', 'one', '-1', '1.5', '99999999999'])
      assert.equal(judge(installed(version), ours), 'replace', version);
  });

  it('keeps its own and never touches a newer one', () => {
    assert.equal(judge(installed(String(versionOf(ours))), ours), 'keep');
    assert.equal(judge(installed(String(versionOf(ours) + 1)), ours), 'newer');
    assert.equal(judge(installed('10'), installed('9')), 'newer');
    assert.equal(judge(installed('9'), installed('10')), 'replace');
  });

  it('waits while one is being deleted, whatever its version', () => {
    for (const version of [undefined, '1', '1000']) assert.equal(judge(installed(version, { deletionTimestamp: 'now' }), ours), 'wait');
  });

  it('has a version of its own', () => {
    assert.ok(versionOf(ours) >= 1);
  });
});

describe('whyNotEstablished()', () => {
  const withConditions = (...conditions: { type: string; status: string; message?: string; reason?: string }[]) =>
    whyNotEstablished({ ...ours, status: { conditions } });

  it('says nothing of one that works', () => {
    assert.equal(withConditions({ type: 'NamesAccepted', status: 'True' }, { type: 'Established', status: 'True' }), undefined);
  });

  it('says that one is new', () => {
    assert.match(whyNotEstablished(ours) ?? '', /not established/);
    assert.match(withConditions({ type: 'Established', status: 'False' }) ?? '', /not established/);
  });

  it('says which name another kind has', () => {
    const refused = { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: '"mcl" is already in use' };
    assert.equal(withConditions(refused, { type: 'Established', status: 'True' }), 'its names are refused: "mcl" is already in use');
  });
});
