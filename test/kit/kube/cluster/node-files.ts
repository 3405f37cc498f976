// The files that make a machine a host of Kubernetes: what containerd, its network of pods and the kubelet are to do. Pure.

export type NodePlace = {
  index: number;
  /** Of everything that stays while the machine is off. */
  dir: string;
  /** Folder of cgroups that its pods are in. */
  cgroup: string;
};

export const podRange = '10.244.0.0/16';
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
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${dir}/cni"
`;
}

/** A bridge on each host; the others' pods are reached by routes. */
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

/** @param leaseMs after so long without a sign of life it counts as silent; it gives one four times as often */
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
    // There is no outside.
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

/** What connection tracking may be set to belongs to the whole machine, so kube-proxy leaves it. */
export const proxyFlags = [
  `--cluster-cidr=${podRange}`,
  '--proxy-mode=nftables',
  '--conntrack-max-per-core=0',
  '--conntrack-min=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
];
