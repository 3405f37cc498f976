// Traffic table of the pods of a MediaCluster: each port, its allowed sources and purpose. The NetworkPolicy is derived from it.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext, PortRange } from '../cluster-context.ts';
import { nodePorts } from '../names.ts';
import { isBehindProxy } from './ingress.ts';
import { exposureOf, mediaRange, sipPorts } from './ports.ts';

/** `anyone`: also from outside; `cluster`: pods of the Kubernetes cluster; `nodes`: of the same MediaCluster; `monitoring`: configured. */
export type TrafficSource = 'anyone' | 'cluster' | 'nodes' | 'monitoring';
export type NetworkRule = {
  name: string;
  protocols: readonly ('TCP' | 'UDP')[];
  ports: PortRange;
  from: TrafficSource;
  purpose: string;
};

/** Allowed ingress of a pod; everything else is denied. */
export function networkRules(spec: MediaClusterSpec, facts: Pick<ClusterContext, 'nodePortRange' | 'livePorts'>): NetworkRule[] {
  return [
    row('http', ['TCP'], nodePorts.http, httpFrom(spec), 'REST API, sockets, content and console, of every pod'),
    ...mediaRows(spec, mediaRange(spec, facts)),
    ...livePorts(spec, facts).map((ports) => row('media-before', ['UDP', 'TCP'], ports, 'anyone', 'Media ports of pods of an older spec')),
    row('epmd', ['TCP'], nodePorts.epmd, 'nodes', 'Names of nodes (plain text: must stay in the cluster)'),
    row('dist', ['TCP'], nodePorts.dist, 'nodes', 'Erlang distribution (plain text without `distributionTls`: must stay in the cluster)'),
    row('metrics', ['TCP'], nodePorts.metrics, 'monitoring', 'Prometheus'),
  ];
}

/** Port blocks of existing pods outside the range of the spec: a changed spec must not interrupt live rooms. */
function livePorts(spec: MediaClusterSpec, facts: Pick<ClusterContext, 'nodePortRange' | 'livePorts'>): PortRange[] {
  const { from, to } = mediaRange(spec, facts);
  const outside = (facts.livePorts ?? []).filter((ports) => ports.from < from || ports.to > to);
  const byText = new Map(outside.map((ports) => [`${ports.from}-${ports.to}`, ports]));
  return [...byText.values()].sort((one, other) => one.from - other.from || one.to - other.to);
}

/** The protocol of each port is known only if all pods have the same block. */
function mediaRows(spec: MediaClusterSpec, { from, to }: PortRange): NetworkRule[] {
  const exposure = exposureOf(spec);
  const sip = exposure === 'podIP' || exposure === 'loadBalancer' ? sipPorts(spec, from) : undefined;
  if (!sip) return [row('media', ['UDP', 'TCP'], { from, to }, 'anyone', 'WebRTC media and TURN; with `sip`, UDP of phone calls')];
  return [
    row('media', ['UDP', 'TCP'], { from, to: sip.signalling.from - 1 }, 'anyone', 'WebRTC media and TURN'),
    row('sip', ['UDP'], sip.signalling, 'anyone', 'SIP'),
    row('sip-rtp', ['UDP'], sip.calls, 'anyone', 'Audio of phone calls'),
  ];
}

/** If clients use the address of the pod, requests may have any source. */
function httpFrom(spec: MediaClusterSpec): TrafficSource {
  const direct = exposureOf(spec) === 'podIP' || exposureOf(spec) === 'hostNetwork';
  return direct && !isBehindProxy(spec) ? 'anyone' : 'cluster';
}

function row(
  name: string,
  protocols: NetworkRule['protocols'],
  ports: PortRange | number,
  from: TrafficSource,
  purpose: string,
): NetworkRule {
  return { name, protocols, ports: typeof ports === 'number' ? { from: ports, to: ports } : ports, from, purpose };
}
