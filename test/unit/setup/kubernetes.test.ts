// Where set-up looks for the programs of Kubernetes, what it downloads, and the Go modules it would build them with.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { choosePrograms, findKubernetes, programFolders } from '../../../node/setup/kubernetes.mjs';
import { kubernetesWrapper, traefikWrapper } from '../../../node/setup/kubernetes-build.mjs';
import { downloadsFor, kubernetesVersion } from '../../../node/setup/kubernetes-versions.mjs';

const linux = { platform: 'linux', arch: 'x64' };

test('programs are looked for where envtest, the user and we put them, our cache last', () => {
  const env = { KUBEBUILDER_ASSETS: '/assets', PATH: '/usr/bin:relative:/opt/bin', HOME: '/home/me' };
  const list = () => ['1.9.1-linux-amd64', '1.36.0-linux-amd64', '1.37.0-linux-arm64'];
  const store = '/home/me/.local/share/kubebuilder-envtest/k8s';
  assert.deepEqual(programFolders(env, { ...linux, list }), [
    '/assets',
    '/usr/bin',
    '/opt/bin',
    '/usr/local/kubebuilder/bin',
    `${store}/1.36.0-linux-amd64`,
    `${store}/1.9.1-linux-amd64`,
    `/home/me/.cache/mediarooms/kubernetes/${kubernetesVersion}-linux-x64`,
  ]);
});

test('the XDG directories are honoured, relative ones are not', () => {
  const list = () => ['1.36.0-linux-amd64'];
  const folders = (env: NodeJS.ProcessEnv) => programFolders({ HOME: '/home/me', ...env }, { ...linux, list }).slice(1);
  assert.deepEqual(folders({ XDG_CACHE_HOME: '/cache', XDG_DATA_HOME: '/data' }), [
    '/data/kubebuilder-envtest/k8s/1.36.0-linux-amd64',
    `/cache/mediarooms/kubernetes/${kubernetesVersion}-linux-x64`,
  ]);
  assert.deepEqual(
    folders({ XDG_CACHE_HOME: 'cache', XDG_DATA_HOME: 'data' })[0],
    '/home/me/.local/share/kubebuilder-envtest/k8s/1.36.0-linux-amd64',
  );
});

const there =
  (...paths: string[]) =>
  (path: string) =>
    paths.includes(path);

test('all programs come from one folder where one has them all', () => {
  const exists = there('/a/kubectl', '/b/kubectl', '/b/etcd', '/b/kube-apiserver');
  const { found, missing } = choosePrograms(['etcd', 'kube-apiserver', 'kubectl'], ['/a', '/b'], exists);
  assert.deepEqual(found, { etcd: '/b/etcd', 'kube-apiserver': '/b/kube-apiserver', kubectl: '/b/kubectl' });
  assert.deepEqual(missing, []);
});

test('otherwise each comes from the first folder that has it, and the rest is missing', () => {
  const exists = there('/a/helm', '/b/kubectl', '/b/kube-apiserver', '/b/etcd', '/b/helm');
  const { found, missing } = choosePrograms(['etcd', 'kube-apiserver', 'kubectl', 'helm', 'coredns'], ['/a', '/b', '/ours'], exists);
  assert.deepEqual(found, { etcd: '/b/etcd', 'kube-apiserver': '/b/kube-apiserver', kubectl: '/b/kubectl', helm: '/a/helm' });
  assert.deepEqual(missing, ['coredns']);
});

test("a program of Kubernetes without an API server beside it is not taken, unless it is our cache's", () => {
  const wanted = ['etcd', 'kubectl', 'kube-apiserver'] as const;
  const exists = there('/usr/bin/etcd', '/usr/bin/kubectl', '/b/kube-apiserver', '/ours/etcd');
  const { found, missing } = choosePrograms(wanted, ['/usr/bin', '/b', '/ours'], exists);
  assert.deepEqual(found, { etcd: '/ours/etcd', 'kube-apiserver': '/b/kube-apiserver' });
  assert.deepEqual(missing, ['kubectl']);
});

test('only what can be run is a program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-programs-'));
  try {
    for (const [name, mode] of [['coredns', 0o644] as const, ['helm', 0o755] as const]) {
      writeFileSync(join(folder, name), '#!/bin/sh\n');
      chmodSync(join(folder, name), mode);
    }
    const { found, missing } = findKubernetes(['coredns', 'helm'], { KUBEBUILDER_ASSETS: folder, HOME: folder });
    assert.deepEqual(found, { helm: join(folder, 'helm') });
    assert.deepEqual(missing, ['coredns']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("envtest's archive is asked for what it holds, Kubernetes' own pages for the rest of it", () => {
  const machine = { platform: 'linux', arch: 'amd64' };
  const wanted = downloadsFor(['etcd', 'kubectl', 'kube-controller-manager', 'coredns'], machine, {});
  const name = `envtest-v${kubernetesVersion}`;
  assert.deepEqual(wanted, [
    {
      url: `https://github.com/kubernetes-sigs/controller-tools/releases/download/${name}/${name}-linux-amd64.tar.gz`,
      gives: ['etcd', 'kubectl'],
    },
    { url: `https://dl.k8s.io/release/v${kubernetesVersion}/bin/linux/amd64/kube-controller-manager`, gives: ['kube-controller-manager'] },
  ]);
  assert.deepEqual(downloadsFor(['etcd'], machine, { MEDIAROOMS_SKIP_KUBERNETES_DOWNLOAD: '1' }), []);
});

test('what is downloaded is tried before it is put in its place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-download-'));
  const script = join(import.meta.dirname, '../../../node/setup/kubernetes-download.mjs');
  const download = (program: string, content: string) => {
    mkdirSync(join(folder, 'controller-tools', 'envtest'), { recursive: true });
    writeFileSync(join(folder, 'controller-tools', 'envtest', program), content);
    const packed = spawnSync('tar', ['-czf', join(folder, 'x.tar.gz'), '-C', folder, 'controller-tools']);
    assert.equal(packed.status, 0);
    const server = `import { createServer } from 'node:http';
      import { readFileSync } from 'node:fs';
      import { spawn } from 'node:child_process';
      const server = createServer((_, answer) => answer.end(readFileSync(process.argv[1]))).listen(0, '127.0.0.1', () => {
        const url = 'http://127.0.0.1:' + server.address().port + '/x.tar.gz';
        spawn(process.execPath, [process.argv[2], url, process.argv[3], process.argv[4]], { stdio: 'inherit' })
          .on('close', (code) => process.exit(code));
      });`;
    const args = ['--input-type=module', '--eval', server, join(folder, 'x.tar.gz'), script, folder, program];
    return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  };
  try {
    const good = download('etcd', '#!/bin/sh\nexit 0\n');
    assert.deepEqual([good.status, good.stderr], [0, '']);
    assert.equal(spawnSync(join(folder, 'etcd')).status, 0);
    const bad = download('kubectl', '#!/bin/sh\nexit 3\n');
    assert.deepEqual([bad.status, bad.stderr], [1, 'kubectl does not run on this system\n']);
    assert.equal(spawnSync('find', [folder, '-maxdepth', '1', '-name', 'kubectl*']).stdout.toString(), '');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the wrapper around Kubernetes replaces every staging module by the one that is published', () => {
  const goMod =
    'module k8s.io/kubernetes\n\ngo 1.26.0\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/kms => ./staging/src/k8s.io/kms\n)\n';
  const wrapper = kubernetesWrapper(goMod);
  const staging = `v0.${kubernetesVersion.slice(2)}`;
  assert.match(wrapper, /^go 1\.26\.0$/m);
  assert.match(wrapper, new RegExp(`^require k8s\\.io/kubernetes v${kubernetesVersion}$`, 'm'));
  for (const name of ['api', 'kms']) assert.ok(wrapper.includes(`replace k8s.io/${name} => k8s.io/${name} ${staging}\n`), name);
});

test("the wrapper around Traefik keeps Traefik's own replacements", () => {
  const goMod = 'module t\n\ngo 1.25.0\n\nreplace (\n\ta => b v1\n\tc => d v2\n)\n\nreplace e => f v3\n\nexclude g v1\n';
  const wrapper = traefikWrapper(goMod);
  assert.match(wrapper, /^go 1\.25\.0$/m);
  assert.match(wrapper, /^replace \(\n\ta => b v1\n\tc => d v2\n\)$/m);
  assert.match(wrapper, /^replace e => f v3$/m);
  assert.doesNotMatch(wrapper, /exclude/);
});
