// Release checks: bills of materials, vulnerabilities and signatures.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

import { auditVerdict, signaturesVerdict } from '../../../tools/release/check.mjs';
import { billOfMaterials, debianComponents, npmComponents } from '../../../tools/release/sbom.mjs';
import { tempFolder } from '../../kit/temp-folder.ts';

const status = `Package: libssl3
Status: install ok installed
Architecture: amd64
Version: 3.0.17-1~deb12u2

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
`;

test('the Debian components are the installed packages', () => {
  assert.deepEqual(debianComponents(status, '12'), [
    {
      type: 'library',
      name: 'libssl3',
      version: '3.0.17-1~deb12u2',
      purl: 'pkg:deb/debian/libssl3@3.0.17-1~deb12u2?arch=amd64&distro=debian-12',
    },
  ]);
});

test('npm packages are found with their scopes and inside of other packages', async (context) => {
  const folder = tempFolder(context);
  const packages = [
    ['a', { name: 'a', version: '1.0.0', license: 'MIT' }],
    ['@s/b', { name: '@s/b', version: '2.0.0' }],
    ['a/node_modules/c', { name: 'c', version: '3.0.0' }],
  ] as const;
  for (const [path, manifest] of packages) {
    const file = join(folder, path, 'package.json');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(manifest));
  }
  const purls = npmComponents(folder).map(({ purl }) => purl);
  assert.deepEqual(purls.sort(), ['pkg:npm/%40s/b@2.0.0', 'pkg:npm/a@1.0.0', 'pkg:npm/c@3.0.0']);
  assert.deepEqual(npmComponents(join(folder, 'none')), []);
});

test('a bill of materials names each component once, sorted, and is the same for the same image', () => {
  const [libssl] = debianComponents(status, '12');
  assert.ok(libssl);
  const b = { type: 'library' as const, name: 'b', version: '1', purl: 'pkg:npm/b@1', license: 'MIT' };
  const image = { name: 'ghcr.io/x', version: '1', digest: 'sha256:ab' };
  const bill = billOfMaterials(image, [b, libssl, b]) as { components: object[]; metadata: { component: { hashes: object[] } } };
  assert.deepEqual(bill.components, [
    { 'bom-ref': libssl.purl, ...libssl },
    { 'bom-ref': b.purl, type: 'library', name: 'b', version: '1', purl: b.purl, licenses: [{ license: { name: 'MIT' } }] },
  ]);
  assert.deepEqual(bill.metadata.component.hashes, [{ alg: 'SHA-256', content: 'ab' }]);
  assert.equal(JSON.stringify(billOfMaterials(image, [libssl, b])), JSON.stringify(bill));
});

test('severe vulnerabilities block a release, others are reported, and a registry without a result is an error', () => {
  const report = (counts: object) => `npm warn something\n${JSON.stringify({ metadata: { vulnerabilities: counts } })}\n`;
  assert.deepEqual(auditVerdict(report({ low: 0, high: 0, total: 0 })), {
    stops: false,
    message: 'The released packages have no known vulnerability.',
  });
  assert.deepEqual(auditVerdict(report({ low: 2, high: 0, total: 2 })), {
    stops: false,
    message: 'The released packages have known vulnerabilities: 2 low.',
  });
  assert.equal(auditVerdict(report({ critical: 1, total: 1 })).stops, true);
  assert.throws(() => auditVerdict('{"message": "405 Method Not Allowed"}'), /returned no vulnerabilities report: 405 Method Not Allowed/);
  assert.throws(() => auditVerdict('npm error network'), /no JSON in the response/);
});

test('a release has only packages with a valid registry signature, and an unknown result is an error', () => {
  const good = 'audited 237 packages in 3s\n\n237 packages have verified registry signatures\n';
  assert.match(signaturesVerdict(0, good), /: 237 packages have verified registry signatures\.$/);
  for (const bad of [
    '1 package has an invalid registry signature:',
    '2 packages have missing registry signatures but the registry is providing signing keys:',
  ])
    assert.throws(() => signaturesVerdict(1, `${good}\n${bad}\n`), /^SetupError: Package signatures are invalid: [12] package/);
  assert.throws(() => signaturesVerdict(1, 'npm error code ENOTFOUND\nnpm error network request failed'), /could not be checked/);
  assert.throws(() => signaturesVerdict(0, ''), /could not be checked/);
});
