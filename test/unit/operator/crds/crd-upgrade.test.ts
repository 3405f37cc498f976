// Decisions about installed CRDs: missing, older, newer or being deleted.
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

describe('decideUpgrade()', () => {
  it('creates a missing CRD and replaces one that is older or has no version', () => {
    assert.equal(decideUpgrade(undefined, ours), 'create');
    for (const version of [undefined, '0', '', 'one', '-1', '1.5', '1', '0.6.9', '0.0.0', '9999999999.0.0'])
      assert.equal(decideUpgrade(installed(version), ours), 'replace', version);
  });

  it('keeps a CRD of its version and never changes a newer one', () => {
    assert.equal(decideUpgrade(installed(versionOf(ours)), ours), 'keep');
    assert.equal(decideUpgrade(installed('1000.0.0'), ours), 'newer');
    assert.equal(decideUpgrade(installed('0.10.0'), installed('0.9.9')), 'newer');
    assert.equal(decideUpgrade(installed('0.9.9'), installed('0.10.0')), 'replace');
  });

  it('replaces a CRD of its version that does not serve all its versions', () => {
    const spec = { versions: [{ name: 'v1alpha1', served: true }] };
    assert.equal(decideUpgrade({ ...installed(versionOf(ours)), spec }, ours), 'replace');
    assert.equal(decideUpgrade({ ...installed('1000.0.0'), spec }, ours), 'newer');
  });

  it('waits while a CRD is being deleted, whatever its version', () => {
    for (const version of [undefined, '0.1.0', '1000.0.0'])
      assert.equal(decideUpgrade(installed(version, { deletionTimestamp: 'now' }), ours), 'wait');
  });

  it('has the version of the release', () => {
    assert.equal(versionOf(ours), manifest.version);
    assert.match(manifest.version, /^\d+\.\d+\.\d+/);
  });
});

describe('compareVersions()', () => {
  it('orders releases and pre-releases', () => {
    const ordered = ['0.7.0-alpha', '0.7.0-alpha.2', '0.7.0-alpha.10', '0.7.0-rc.1', '0.7.0', '0.7.1', '0.10.0', '1.0.0', '10.0.0'];
    for (const [place, one] of ordered.entries())
      for (const [otherPlace, other] of ordered.entries())
        assert.equal(Math.sign(compareVersions(one, other)), Math.sign(place - otherPlace), `${one} and ${other}`);
  });

  it('ignores build metadata of a version', () => {
    assert.equal(compareVersions('1.0.0+abc', '1.0.0'), 0);
  });

  it('treats an invalid version as older than all', () => {
    for (const text of [undefined, '', 'v1.0.0', '1.0', 'latest']) assert.ok(compareVersions(text, '0.0.0-a') < 0, text);
    assert.equal(compareVersions(undefined, 'x'), 0);
  });
});

describe('notEstablishedReason()', () => {
  const withConditions = (...conditions: { type: string; status: string; message?: string; reason?: string }[]) =>
    notEstablishedReason({ ...ours, status: { conditions } });

  it('returns undefined for an established CRD', () => {
    assert.equal(withConditions({ type: 'NamesAccepted', status: 'True' }, { type: 'Established', status: 'True' }), undefined);
  });

  it('reports a CRD that is not established', () => {
    assert.match(notEstablishedReason(ours) ?? '', /not established/);
    assert.match(withConditions({ type: 'Established', status: 'False' }) ?? '', /not established/);
  });

  it('reports a name conflict', () => {
    const refused = { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: '"mcl" is already in use' };
    assert.equal(withConditions(refused, { type: 'Established', status: 'True' }), 'its names were rejected: "mcl" is already in use');
  });
});
