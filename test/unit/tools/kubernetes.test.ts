// Kubernetes programs: the folders that are searched, and the Go modules that they are built from.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { choosePrograms, findKubernetes, programFolders } from '../../../tools/kubernetes/kubernetes.mjs';
import { copySubset, coreDnsMain, programsModule, requiredVersion, vendoredSubsets } from '../../../tools/kubernetes/module.mjs';
import { kubernetesVersion, programModules, programsRecipe } from '../../../tools/kubernetes/versions.mjs';
import { tempFolder } from '../../kit/temp-folder.ts';

const linux = { platform: 'linux', arch: 'x64' };

test('programs are searched in KUBEBUILDER_ASSETS, envtest folders, PATH and the cache, in this order', () => {
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
    `/home/me/.cache/mediarooms/kubernetes/${kubernetesVersion}-${programsRecipe}-linux-x64`,
  ]);
});

test('absolute XDG directories are used, relative ones are ignored', () => {
  const list = () => ['1.36.0-linux-amd64'];
  const folders = (env: NodeJS.ProcessEnv) => programFolders({ HOME: '/home/me', ...env }, { ...linux, list }).slice(1);
  assert.deepEqual(folders({ XDG_CACHE_HOME: '/cache', XDG_DATA_HOME: '/data' }), [
    '/data/kubebuilder-envtest/k8s/1.36.0-linux-amd64',
    `/cache/mediarooms/kubernetes/${kubernetesVersion}-${programsRecipe}-linux-x64`,
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

test('all programs come from one folder if one has them all', () => {
  const exists = there('/a/kubectl', '/b/kubectl', '/b/etcd', '/b/kube-apiserver');
  const { found, missing } = choosePrograms(['etcd', 'kube-apiserver', 'kubectl'], ['/a', '/b'], exists);
  assert.deepEqual(found, { etcd: '/b/etcd', 'kube-apiserver': '/b/kube-apiserver', kubectl: '/b/kubectl' });
  assert.deepEqual(missing, []);
});

test('otherwise each program comes from the first folder that has it, and the rest is missing', () => {
  const exists = there('/a/helm', '/b/kubectl', '/b/kube-apiserver', '/b/etcd', '/b/helm');
  const { found, missing } = choosePrograms(['etcd', 'kube-apiserver', 'kubectl', 'helm', 'coredns'], ['/a', '/b', '/ours'], exists);
  assert.deepEqual(found, { etcd: '/b/etcd', 'kube-apiserver': '/b/kube-apiserver', kubectl: '/b/kubectl', helm: '/a/helm' });
  assert.deepEqual(missing, ['coredns']);
});

test('a Kubernetes program without an API server in its folder is ignored, unless the folder is the cache', () => {
  const wanted = ['etcd', 'kubectl', 'kube-apiserver'] as const;
  const exists = there('/usr/bin/etcd', '/usr/bin/kubectl', '/b/kube-apiserver', '/ours/etcd');
  const { found, missing } = choosePrograms(wanted, ['/usr/bin', '/b', '/ours'], exists);
  assert.deepEqual(found, { etcd: '/ours/etcd', 'kube-apiserver': '/b/kube-apiserver' });
  assert.deepEqual(missing, ['kubectl']);
});

test('only executable files are programs', (t) => {
  const folder = tempFolder(t);
  for (const [name, mode] of [['coredns', 0o644] as const, ['helm', 0o755] as const]) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), mode);
  }
  const { found, missing } = findKubernetes(['coredns', 'helm'], { KUBEBUILDER_ASSETS: folder, HOME: folder });
  assert.deepEqual(found, { helm: join(folder, 'helm') });
  assert.deepEqual(missing, ['coredns']);
});

test('one module requires all programs except Traefik, with the dependency versions of the Kubernetes release', () => {
  const required = 'require (\n\tk8s.io/api v0.0.0\n\tx/y v1.2.3\n)\n\nrequire (\n\tx/z v4.5.6 // indirect\n)\n';
  const staging = 'replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/kms => ./staging/src/k8s.io/kms\n)\n';
  const lines = programsModule(`module k8s.io/kubernetes\n\ngo 1.26.0\n\n${required}\n${staging}`).split('\n');
  assert.ok(lines.includes('go 1.26.0'));
  for (const [name, version] of Object.entries(programModules)) assert.ok(lines.includes(`require ${name} ${version}`), name);
  const published = `v0.${kubernetesVersion.slice(2)}`;
  assert.deepEqual(
    lines.filter((line) => line.startsWith('replace ')),
    [
      `replace k8s.io/api => k8s.io/api ${published}`,
      `replace k8s.io/kms => k8s.io/kms ${published}`,
      'replace x/y => x/y v1.2.3',
      'replace x/z => x/z v4.5.6',
    ],
  );
});

test('the required version of a module is read from go.mod', () => {
  const goMod = 'module t\n\ngo 1.25.0\n\nrequire (\n\tx/y v1.2.3\n\tx/y/z v4.5.6 // indirect\n)\n';
  assert.equal(requiredVersion(goMod, 'x/y'), 'v1.2.3');
  assert.equal(requiredVersion(goMod, 'x/y/z'), 'v4.5.6');
  assert.equal(requiredVersion('require x v1.0.0\n', 'x'), 'v1.0.0');
  assert.equal(requiredVersion(goMod, 'y'), undefined);
});

test('a copy of a module has everything except the cut parts, even if the original is read-only', (t) => {
  const folder = tempFolder(t);
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  for (const each of ['dns/acme', 'lib/dns']) mkdirSync(join(from, each), { recursive: true });
  writeFileSync(join(from, 'dns', 'acme', 'acme.go'), 'package acme\n');
  writeFileSync(join(from, 'dns', 'dns.go'), 'package dns\n\nimport (\n\t"x/acme"\n\t"fmt"\n)\n', { mode: 0o444 });
  writeFileSync(join(from, 'lib', 'dns', 'a.go'), 'package dns\n');
  writeFileSync(join(from, 'lib', 'a_test.go'), 'package lib\n');
  const without = /^dns\/[^/.]+$|_test\.go$/;
  const lines = [{ file: 'dns/dns.go', pattern: /^\t"x\/.*"\n/gm }];
  copySubset(from, to, { without, lines });
  assert.deepEqual(readdirSync(to, { recursive: true }).sort(), ['dns', 'dns/dns.go', 'lib', 'lib/dns', 'lib/dns/a.go']);
  assert.equal(readFileSync(join(to, 'dns', 'dns.go'), 'utf8'), 'package dns\n\nimport (\n\t"fmt"\n)\n');
  const unknown = [{ file: 'dns/dns.go', pattern: /nowhere/g }];
  assert.throws(() => copySubset(from, join(folder, 'other'), { without, lines: unknown }), /dns\/dns\.go of .*does not match /);
});

test("Traefik's options of other providers than Kubernetes are removed, with the code that reads them", () => {
  const options = vendoredSubsets['github.com/traefik/traefik/v3']?.lines ?? [];
  const cut = (file: string, text: string) =>
    options.filter((each) => each.file === file).reduce((rest, { pattern }) => rest.replace(pattern, ''), text);
  const aggregator =
    '\tif conf.Docker != nil {\n\t\tp.add(conf.Docker)\n\t}\n\tif conf.KubernetesIngress != nil {\n\t\tp.add(conf.KubernetesIngress)\n\t}\n\tif conf.Nomad != nil {\n\t\tfor _, one := range conf.Nomad.Build() {\n\t\t\tp.add(one)\n\t\t}\n\t}\n';
  assert.equal(
    cut('pkg/provider/aggregator/aggregator.go', aggregator),
    '\tif conf.KubernetesIngress != nil {\n\t\tp.add(conf.KubernetesIngress)\n\t}\n',
  );
  const fields =
    '\tEtcd   *etcd.Provider  `json:"etcd"`\n\tFile   *file.Provider  `json:"file"`\n\tConsul *consul.Builder `json:"consul"`\n';
  assert.equal(cut('pkg/config/static/static_config.go', fields), '\tFile   *file.Provider  `json:"file"`\n');
});

test("CoreDNS has the plugins of the tests' Corefile and of kubeadm, in the order of CoreDNS", () => {
  const main = coreDnsMain();
  const order = [...(/\[\]string\{(.*)\}/.exec(main)?.[1] ?? '').matchAll(/"(\w+)"/g)].map(([, name]) => name);
  for (const name of ['errors', 'health', 'ready', 'kubernetes', 'prometheus', 'forward', 'cache', 'loop', 'reload', 'loadbalance']) {
    assert.ok(order.includes(name), name);
    assert.ok(main.includes(`\t_ "github.com/coredns/coredns/plugin/${name === 'prometheus' ? 'metrics' : name}"\n`), name);
  }
  assert.ok(order.indexOf('cache') < order.indexOf('kubernetes') && order.indexOf('kubernetes') < order.indexOf('forward'));
});
