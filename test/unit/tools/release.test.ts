// Release: versions, changelog, chart, workflows, bills of materials, vulnerabilities and signatures of packages.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';

import { root } from '../../../tools/paths.mjs';
import { sectionOf } from '../../../tools/release/changelog.mjs';
import { customResource, releasedChart } from '../../../tools/release/chart.mjs';
import { auditVerdict, signaturesVerdict } from '../../../tools/release/check.mjs';
import { imageRegistry } from '../../../tools/release/registry.mjs';
import { billOfMaterials, debianComponents, npmComponents } from '../../../tools/release/sbom.mjs';
import { isPrerelease, publishProblems, readVersions, versionProblems } from '../../../tools/release/versions.mjs';
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

test('the version of the checkout is the same in all files, and the changelog has its section', () => {
  assert.deepEqual(versionProblems(readVersions()), []);
});

test('a wrong version, a missing or undated section, changes and another tag prevent a release', () => {
  const wrong = { version: '1.0.0', found: { 'helm/Chart.yaml version': '0.9.0', 'packages/client/package.json': '1.0.0' } };
  assert.deepEqual(versionProblems(wrong), [
    'helm/Chart.yaml version is 0.9.0, but package.json is 1.0.0.',
    'CHANGELOG.md has no section [1.0.0].',
  ]);
  const dated = { version: '1.0.0', found: {}, section: { date: '2026-12-01', changes: [] } };
  assert.deepEqual(publishProblems(dated, { status: '' }), []);
  assert.deepEqual(publishProblems(dated, { status: '', tag: 'v1.0.0' }), []);
  const undated = { ...dated, section: { changes: [] } };
  assert.equal(publishProblems(undated, { status: ' M README.md\n', tag: 'v2.0.0' }).length, 3);
  assert.deepEqual(['1.0.0', '1.0.0-rc.1'].map(isPrerelease), [false, true]);
});

const changelog = `# Changelog

## [Unreleased]

## [1.0.0] - 2026-12-01

Text.

### Added

- First part of [Images](docs/images.md) with \`a.b\`. Second sentence.

### Security

- One sentence

## [0.9.0] - not published
`;

test('a section of the changelog has its date and the first sentence of each entry', () => {
  assert.deepEqual(sectionOf(changelog, '1.0.0'), {
    date: '2026-12-01',
    changes: [
      { kind: 'added', description: 'First part of Images with `a.b`.' },
      { kind: 'security', description: 'One sentence' },
    ],
  });
  assert.deepEqual(sectionOf(changelog, '0.9.0'), { changes: [] });
  assert.equal(sectionOf(changelog, '2.0.0'), undefined);
});

test('a released chart has the annotations of Artifact Hub', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const crds = ['crds/room.yaml', 'crds/mediacluster.yaml'].map((path) => customResource(read(path)));
  const { changes = [] } = sectionOf(changelog, '1.0.0') ?? {};
  const source = read('helm/Chart.yaml').replace(/^(version|appVersion): .*$/gm, '$1: 1.0.0-rc.1');
  const { annotations, ...chart } = parse(releasedChart(source, { changes, crds }));
  assert.equal(chart.version, '1.0.0-rc.1');
  const value = (name: string) => annotations[`artifacthub.io/${name}`] as string;
  assert.deepEqual(['license', 'prerelease', 'containsSecurityUpdates', 'operator'].map(value), ['Apache-2.0', 'true', 'true', 'true']);
  assert.deepEqual(parse(value('images')), [
    { name: 'node', image: 'ghcr.io/mediarooms/node:1.0.0-rc.1' },
    { name: 'operator', image: 'ghcr.io/mediarooms/operator:1.0.0-rc.1' },
  ]);
  assert.deepEqual(parse(value('changes')), changes);
  assert.deepEqual(
    (parse(value('crds')) as { kind: string; version: string }[]).map(({ kind, version }) => `${kind} ${version}`),
    ['Room v1alpha2', 'MediaCluster v1alpha1'],
  );
  for (const { name, url } of parse(value('links'))) assert.ok(name && /^https:/.test(url));
  // Artifact Hub accepts strings only.
  assert.ok(Object.values(annotations).every((each) => typeof each === 'string'));
});

test('an image registry has TLS unless its address starts with http', () => {
  assert.deepEqual(imageRegistry('ghcr.io/mediarooms'), { path: 'ghcr.io/mediarooms', plainHttp: false });
  assert.deepEqual(imageRegistry('http://127.0.0.1:5000/mediarooms/'), { path: '127.0.0.1:5000/mediarooms', plainHttp: true });
});

type Workflow = {
  permissions: Record<string, string>;
  jobs: Record<string, { permissions?: Record<string, string>; 'timeout-minutes'?: number; steps: { uses?: string; run?: string }[] }>;
};

test('workflows pin actions by commit, run scripts that exist, and may write only where they publish', () => {
  const folder = join(root, '.github/workflows');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  for (const file of readdirSync(folder)) {
    const { permissions, jobs } = parse(readFileSync(join(folder, file), 'utf8')) as Workflow;
    assert.deepEqual(permissions, { contents: 'read' }, file);
    for (const [name, job] of Object.entries(jobs)) {
      const what = `${file}: ${name}`;
      assert.ok((job['timeout-minutes'] ?? 0) > 0, what);
      assert.ok(job.permissions === undefined || name === 'publish', what);
      for (const { uses, run = '' } of job.steps) {
        if (uses !== undefined) assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, what);
        for (const [, script = ''] of run.matchAll(/npm run ([\w:-]+)/g)) assert.ok(script in scripts, `${what}: ${script}`);
        // A value of the event in a script could contain commands.
        assert.doesNotMatch(run, /\$\{\{/, what);
      }
    }
  }
});
