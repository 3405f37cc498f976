// Versions of Kubernetes and related programs that tests use, and the Go package of each program.

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

/** Go modules of the programs, with one version of each shared dependency. */
export const programModules = /** @type {const} */ ({
  'k8s.io/kubernetes': `v${kubernetesVersion}`,
  'go.etcd.io/etcd/server/v3': `v${etcdVersion}`,
  'helm.sh/helm/v4': 'v4.3.1',
  'github.com/coredns/coredns': 'v1.14.7',
  // An S3 server.
  'github.com/versity/versitygw': 'v1.8.0',
});

/** Built separately, because it requires older versions of shared modules. Later versions need a module that the Go proxy does not have. */
export const traefikModule = 'github.com/traefik/traefik/v3';
export const traefikVersion = 'v3.5.3';

/** The Go package of each program outside of the Kubernetes module. */
export const otherPackages = /** @type {const} */ ({
  etcd: 'go.etcd.io/etcd/server/v3',
  helm: 'helm.sh/helm/v4/cmd/helm',
  coredns: './coredns',
  traefik: './cmd/traefik',
  versitygw: 'github.com/versity/versitygw/cmd/versitygw',
});

/** Increase this when the build changes and the version of Kubernetes does not. */
export const programsRecipe = 2;

/** @typedef {(typeof kubernetesCommands)[number] | keyof typeof otherPackages} KubernetesProgram */
