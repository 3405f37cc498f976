// What is done about definitions that are there, old, young, or on their way out.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { roomDefinition, versionAnnotation } from '../../../../crds/crd-manifests.ts';
import { compareVersions, type Definition, decideUpgrade, notEstablishedReason, versionOf } from '../../../../operator/crds/crd-upgrade.ts';
import type { Stored } from '../../../../operator/kube/objects.ts';
import manifest from '../../../../package.json' with { type: 'json' };

const ours = roomDefinition as unknown as Definition;

function installed(version: string | undefined, more: object = {}): Stored<Definition> {
  const annotations: Record<string, string> = version === undefined ? {} : { [versionAnnotation]: version };
  return { ...ours, metadata: { name: 'x', uid: 'u', resourceVersion: '1', annotations, ...more } };
}

describe('judge()', () => {
  it('makes what is missing and replaces what is older or says no version', () => {
    assert.equal(decideUpgrade(undefined, ours), 'create');
    for (const version of [undefined, '0', '', 'one', '-1', '1.5', '1', '0.6.9', '0.0.0', '9999999999.0.0'])
      assert.equal(decideUpgrade(installed(version), ours), 'replace', version);
  });

  it('keeps its own and never touches a newer one', () => {
    assert.equal(decideUpgrade(installed(versionOf(ours)), ours), 'keep');
    assert.equal(decideUpgrade(installed('1000.0.0'), ours), 'newer');
    assert.equal(decideUpgrade(installed('0.10.0'), installed('0.9.9')), 'newer');
    assert.equal(decideUpgrade(installed('0.9.9'), installed('0.10.0')), 'replace');
  });

  it('waits while one is being deleted, whatever its version', () => {
    for (const version of [undefined, '0.1.0', '1000.0.0'])
      assert.equal(decideUpgrade(installed(version, { deletionTimestamp: 'now' }), ours), 'wait');
  });

  it('has the version of the release', () => {
    assert.equal(versionOf(ours), manifest.version);
    assert.match(manifest.version, /^\d+\.\d+\.\d+/);
  });
});

describe('compareVersions()', () => {
  it('knows the order of releases, what comes before them included', () => {
    const ordered = ['0.7.0-alpha', '0.7.0-alpha.2', '0.7.0-alpha.10', '0.7.0-rc.1', '0.7.0', '0.7.1', '0.10.0', '1.0.0', '10.0.0'];
    for (const [place, one] of ordered.entries())
      for (const [otherPlace, other] of ordered.entries())
        assert.equal(Math.sign(compareVersions(one, other)), Math.sign(place - otherPlace), `${one} and ${other}`);
  });

  it('takes what was built from one version as that version', () => {
    assert.equal(compareVersions('1.0.0+abc', '1.0.0'), 0);
  });

  it('takes what is no version as older than all', () => {
    for (const text of [undefined, '', 'v1.0.0', '1.0', 'latest']) assert.ok(compareVersions(text, '0.0.0-a') < 0, text);
    assert.equal(compareVersions(undefined, 'x'), 0);
  });
});

describe('whyNotEstablished()', () => {
  const withConditions = (...conditions: { type: string; status: string; message?: string; reason?: string }[]) =>
    notEstablishedReason({ ...ours, status: { conditions } });

  it('says nothing of one that works', () => {
    assert.equal(withConditions({ type: 'NamesAccepted', status: 'True' }, { type: 'Established', status: 'True' }), undefined);
  });

  it('says that one is new', () => {
    assert.match(notEstablishedReason(ours) ?? '', /not established/);
    assert.match(withConditions({ type: 'Established', status: 'False' }) ?? '', /not established/);
  });

  it('says which name another kind has', () => {
    const refused = { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: '"mcl" is already in use' };
    assert.equal(withConditions(refused, { type: 'Established', status: 'True' }), 'its names are refused: "mcl" is already in use');
  });
});
