// Configuration files of a Kubernetes node: containerd, its pod network and the kubelet. Pure.

export type NodePlace = {
  index: number;
  /** Folder that is kept while the machine is off. */
  dir: string;
  /** Parent cgroup of its pods. */
  cgroup: string;
};

const podRange = '10.244.0.0/16';
export const clusterDns = '10.96.0.10';
export const pauseImage = 'localhost/pause:1';

export const podNetwork = (index: number): string => `10.244.${index}.0/24`;

export function containerdConfig({ dir }: NodePlace): string {
  return `version = 2
root = "${dir}/containerd"
state = "/run/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # Where the right to it is missing, runc would fail.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${dir}/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${dir}/cni"
`;
}

/** hosts.toml of an image registry that another one replaces. */
export function registryMirror(url: string): string {
  return `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
}

/** A bridge on each Kubernetes node; pods of others are reached by routes. */
export function podNetworkConfig({ dir, index }: NodePlace): string {
  const ipam = {
    type: 'host-local',
    dataDir: `${dir}/addresses`,
    ranges: [[{ subnet: podNetwork(index) }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: false, hairpinMode: true, ipam };
  const plugins = [bridge, { type: 'portmap', capabilities: { portMappings: true } }];
  return JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins }, undefined, 2);
}

/** @param leaseMs validity of its heartbeat; it sends four in this time */
export function kubeletConfig({ dir, cgroup }: NodePlace, leaseMs: number): string {
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    clusterDNS: [clusterDns],
    clusterDomain: 'cluster.local',
    // There is no external DNS.
    resolvConf: '/dev/null',
    failSwapOn: false,
    evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%', 'memory.available': '100Mi' },
    enforceNodeAllocatable: [],
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    nodeLeaseDurationSeconds: Math.round(leaseMs / 1_000),
    volumePluginDir: `${dir}/volume-plugins`,
  };
  return JSON.stringify(config, undefined, 2);
}

/** kube-proxy must not change connection tracking limits, which belong to the whole machine. */
export const proxyFlags = [
  `--cluster-cidr=${podRange}`,
  '--proxy-mode=nftables',
  '--conntrack-max-per-core=0',
  '--conntrack-min=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
];
