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

/** The Go modules that programs are built from, with one version of whatever several of them need. */
export const programModules = /** @type {const} */ ({
  'k8s.io/kubernetes': `v${kubernetesVersion}`,
  'go.etcd.io/etcd/server/v3': `v${etcdVersion}`,
  'helm.sh/helm/v4': 'v4.3.1',
  'github.com/coredns/coredns': 'v1.14.7',
  // An S3 server.
  'github.com/versity/versitygw': 'v1.8.0',
});

/** It is made for older versions of what the others need. Later ones of its own need a module that the Go proxy does not have. */
export const traefikModule = 'github.com/traefik/traefik/v3';
export const traefikVersion = 'v3.5.3';

/** The package of each program that is not of Kubernetes' own module. */
export const otherPackages = /** @type {const} */ ({
  etcd: 'go.etcd.io/etcd/server/v3',
  helm: 'helm.sh/helm/v4/cmd/helm',
  coredns: './coredns',
  traefik: './cmd/traefik',
  versitygw: 'github.com/versity/versitygw/cmd/versitygw',
});

/** Raised when what is built changes, though Kubernetes' version does not. */
export const programsRecipe = 2;

/** @typedef {(typeof kubernetesCommands)[number] | keyof typeof otherPackages} KubernetesProgram */
