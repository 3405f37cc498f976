// Which versions of Kubernetes and of what belongs to it tests run, and where each program comes from.

export const kubernetesVersion = '1.36.3';
/** The version that Kubernetes 1.36 is released with. */
export const etcdVersion = '3.6.8';

/** Programs of Kubernetes' own module. */
export const kubernetesCommands = /** @type {const} */ ([
  'kube-apiserver',
  'kube-controller-manager',
  'kubectl',
  'kubelet',
  'kube-proxy',
  'kube-scheduler',
]);

/** Programs that `go install` builds as they are: package and version. */
export const installedPackages = /** @type {const} */ ({
  helm: 'helm.sh/helm/v4/cmd/helm@v4.3.1',
  coredns: 'github.com/coredns/coredns@v1.14.7',
  // An S3 server.
  versitygw: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0',
});

/** Later ones need a module that the Go proxy does not have. */
export const traefikVersion = '3.5.3';

/** @typedef {'etcd' | 'traefik' | (typeof kubernetesCommands)[number] | keyof typeof installedPackages} KubernetesProgram */

/** What envtest's archive holds. */
const envtestPrograms = ['etcd', 'kube-apiserver', 'kubectl'];

/**
 * The downloads of the projects themselves that hold what is missing.
 * @param {readonly string[]} missing
 * @param {{ platform: string, arch: string }} machine arch: as Go names it
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ url: string, gives: string[] }[]} an archive, or the program itself
 */
export function downloadsFor(missing, { platform, arch }, env) {
  if (env.MEDIAROOMS_SKIP_KUBERNETES_DOWNLOAD) return [];
  const fromEnvtest = missing.filter((name) => envtestPrograms.includes(name));
  const release = 'https://github.com/kubernetes-sigs/controller-tools/releases/download';
  const name = `envtest-v${kubernetesVersion}`;
  const envtest = fromEnvtest.length === 0 ? [] : [{ url: `${release}/${name}/${name}-${platform}-${arch}.tar.gz`, gives: fromEnvtest }];
  const others = kubernetesCommands.filter((each) => missing.includes(each) && !envtestPrograms.includes(each));
  const single = others.map((each) => ({
    url: `https://dl.k8s.io/release/v${kubernetesVersion}/bin/${platform}/${arch}/${each}`,
    gives: [each],
  }));
  return [...envtest, ...single];
}
