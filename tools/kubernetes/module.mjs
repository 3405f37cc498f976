// Go module of the Kubernetes programs, and the parts of Traefik that are excluded because no test uses them.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { SetupError } from '../steps.mjs';
import { kubernetesVersion, programModules, traefikModule } from './versions.mjs';

/**
 * @typedef {object} Cut
 * @property {RegExp} without matches module paths of folders and files that are not copied
 * @property {{ file: string, pattern: RegExp }[]} lines to remove from files; each pattern must match
 */

/** Configuration providers of Traefik other than Kubernetes. */
const otherProviders = ['Docker', 'Swarm', 'Ecs', 'ConsulCatalog', 'Nomad', 'Consul', 'Etcd', 'ZooKeeper', 'Redis'];
const traefikOptions = 'pkg/config/static/static_config.go';

/**
 * Modules that are copied without some packages, which cost most of the build time: hundreds of clients of cloud APIs.
 * @type {Record<string, Cut>}
 */
export const vendoredSubsets = {
  // ACME certificates, without the DNS providers of 180 companies.
  'github.com/go-acme/lego/v4': {
    without: /^(cmd|docs|e2e|providers\/dns\/[^/.]+)$|_test\.go$/,
    lines: [
      { file: 'providers/dns/zz_gen_dns_providers.go', pattern: /^\t".*\/providers\/dns\/.*"\n/gm },
      { file: 'providers/dns/zz_gen_dns_providers.go', pattern: /^\t".*\/challenge\/dns01"\n/gm },
      { file: 'providers/dns/zz_gen_dns_providers.go', pattern: /^\tcase .*\n\t\treturn .*\n/gm },
    ],
  },
  // The Go interpreter for plugins, without its tables of the whole Go standard library.
  'github.com/traefik/yaegi': {
    without: /^(_test|cmd|doc|example|extract)$|^stdlib\/(go1_.*|wrapper-composed\.go)$|_test\.go$/,
    lines: [],
  },
  [traefikModule]: {
    without: /^(\.github|contrib|docs|integration|script)$|^pkg\/provider\/(consulcatalog|docker|ecs|kv|nomad)$|_test\.go$/,
    lines: [
      { file: traefikOptions, pattern: /^\t".*\/pkg\/provider\/(consulcatalog|docker|ecs|kv\/\w+|nomad)"\n/gm },
      { file: traefikOptions, pattern: new RegExp(`^\\t(${otherProviders.join('|')}) +\\*\\w+\\.\\w+ +\`.*\\n`, 'gm') },
      { file: traefikOptions, pattern: /^\tif c\.Providers\.(Docker|Swarm) != nil \{\n(\t\t.*\n|\n)+\t\}\n/gm },
      {
        file: 'pkg/provider/aggregator/aggregator.go',
        pattern: new RegExp(`^\\tif conf\\.(${otherProviders.join('|')}) != nil \\{\\n(\\t\\t.*\\n)+\\t\\}\\n`, 'gm'),
      },
    ],
  },
};

/** CoreDNS plugins, in the order in which they process a query: those of a kubeadm cluster, and the usual ones for debugging. */
const dnsDirectives = [
  ...['metadata', 'bind', 'debug', 'ready', 'health', 'prometheus', 'errors', 'log', 'loadbalance', 'rewrite', 'cache', 'hosts'],
  ...['kubernetes', 'loop', 'forward', 'reload', 'whoami'],
];

/**
 * Main package of CoreDNS with few plugins, as its documentation describes.
 * @returns {string}
 */
export function coreDnsMain() {
  const plugins = dnsDirectives.map((name) => (name === 'prometheus' ? 'metrics' : name));
  return [
    'package main',
    '',
    'import (',
    '\t"github.com/coredns/coredns/core/dnsserver"',
    '\t"github.com/coredns/coredns/coremain"',
    ...plugins.map((name) => `\t_ "github.com/coredns/coredns/plugin/${name}"`),
    ')',
    '',
    `func init() { dnsserver.Directives = []string{${dnsDirectives.map((name) => `"${name}"`).join(', ')}} }`,
    '',
    'func main() { coremain.Run() }',
    '',
  ].join('\n');
}

/**
 * The go.mod of one module that depends on all programs except Traefik, so that shared packages have one version and compile once: the
 * version that Kubernetes is released with. Kubernetes requires its staging modules at v0.0.0, so each must be replaced, too.
 * @param {string} goMod go.mod of k8s.io/kubernetes
 * @returns {string}
 */
export function programsModule(goMod) {
  const staging = [...goMod.matchAll(/^\s*(k8s\.io\/\S+) => \.\/staging\//gm)].map(([, name]) => name);
  const others = [...goMod.matchAll(/^(?:require|\t)\s*(\S+) (v\S+)(?: \/\/ indirect)?$/gm)].filter(([, name]) => !staging.includes(name));
  return [
    'module mediarooms.local/programs',
    goMod.match(/^go .+$/m)?.[0] ?? 'go 1.26.0',
    ...Object.entries(programModules).map(([name, version]) => `require ${name} ${version}`),
    ...staging.map((name) => `replace ${name} => ${name} v0.${kubernetesVersion.slice(2)}`),
    ...others.map(([, name, version]) => `replace ${name} => ${name} ${version}`),
    '',
  ].join('\n');
}

/**
 * @param {string} goMod
 * @param {string} module
 * @returns {string | undefined} the required version of the module
 */
export function requiredVersion(goMod, module) {
  return goMod.split('\n').flatMap((line) => {
    const [name, version] = line
      .replace(/^require /, '')
      .trim()
      .split(/\s+/);
    return name === module && version?.startsWith('v') ? [version] : [];
  })[0];
}

/**
 * Copies a module without the cut parts. Go's own copy is read-only.
 * @param {string} from
 * @param {string} to
 * @param {Cut} cut
 * @throws {SetupError} if the source is not the expected version
 */
export function copySubset(from, to, { without, lines }) {
  copyFolder(from, to, without, '');
  for (const { file, pattern } of lines) {
    const path = join(to, file);
    const text = readFileSync(path, 'utf8');
    const cut = text.replace(pattern, '');
    if (cut === text) throw new SetupError(`${file} of ${from} does not match tools/kubernetes/module.mjs: no match for ${pattern}.`);
    writeFileSync(path, cut);
  }
}

/**
 * @param {string} from
 * @param {string} to
 * @param {RegExp} without
 * @param {string} inside path in the module
 */
function copyFolder(from, to, without, inside) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const path = posix.join(inside, entry.name);
    if (without.test(path)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target, without, path);
    else writeFileSync(target, readFileSync(source));
  }
}
