// The table of traffic of a MediaCluster's pods: each port, who may use it, and for what. The NetworkPolicy is made from it.
import type { MediaClusterSpec } from '../../crds/types.ts';
import type { ClusterFacts, PortRange } from './facts.ts';
import { isBehindProxy } from './ingress.ts';
import { nodePorts } from './names.ts';
import { exposureOf, mediaRange } from './ports.ts';

/** `anyone`: also from outside; `cluster`: pods of the Kubernetes cluster; `nodes`: nodes of the same MediaCluster; `monitoring`: as given. */
export type Sender = 'anyone' | 'cluster' | 'nodes' | 'monitoring';
export type TrafficRow = {
  name: string;
  protocols: readonly ('TCP' | 'UDP')[];
  ports: PortRange;
  from: Sender;
  purpose: string;
};

// What a node takes by itself (docs/configuration.md).
const sipPorts = { SVC_SIP_PORT: '5060', SVC_SIP_RTP_PORTS: '10000-10019' };

/** What may reach a pod of the cluster. All that is not in here is refused. */
export function traffic(spec: MediaClusterSpec, facts: Pick<ClusterFacts, 'nodePortRange' | 'livePorts'>): TrafficRow[] {
  const rows: TrafficRow[] = [
    row('http', ['TCP'], nodePorts.http, httpFrom(spec), 'REST API, sockets, content and console, of every pod'),
    row('media', ['UDP', 'TCP'], mediaRange(spec, facts), 'anyone', 'WebRTC media and TURN'),
    ...livePorts(spec, facts).map((ports) => row('media-before', ['UDP', 'TCP'], ports, 'anyone', 'The same of pods of an older spec')),
    row('epmd', ['TCP'], nodePorts.epmd, 'nodes', 'Names of nodes (plain text: must stay inside)'),
    row('dist', ['TCP'], nodePorts.dist, 'nodes', 'Erlang distribution (plain text: must stay inside)'),
    row('metrics', ['TCP'], nodePorts.metrics, 'monitoring', 'Prometheus'),
  ];
  if (spec.config?.componentsUsed?.includes('sip') !== true) return rows;
  return [
    ...rows,
    row('sip', ['UDP', 'TCP'], portsIn(spec, 'SVC_SIP_PORT'), 'anyone', 'SIP'),
    row('sip-rtp', ['UDP'], portsIn(spec, 'SVC_SIP_RTP_PORTS'), 'anyone', 'RTP and RTCP of SIP calls'),
  ];
}

/** Blocks of living pods that are not in the range of the spec, each once: a changed spec must not cut off who is in their rooms. */
function livePorts(spec: MediaClusterSpec, facts: Pick<ClusterFacts, 'nodePortRange' | 'livePorts'>): PortRange[] {
  const { from, to } = mediaRange(spec, facts);
  const outside = (facts.livePorts ?? []).filter((ports) => ports.from < from || ports.to > to);
  const byText = new Map(outside.map((ports) => [`${ports.from}-${ports.to}`, ports]));
  return [...byText.values()].sort((one, other) => one.from - other.from || one.to - other.to);
}

/** Where clients are told the address of the pod itself, they come from everywhere. */
function httpFrom(spec: MediaClusterSpec): Sender {
  const direct = exposureOf(spec) === 'podIP' || exposureOf(spec) === 'hostNetwork';
  return direct && !isBehindProxy(spec) ? 'anyone' : 'cluster';
}

/** Ports of a variable that the cluster may set itself: `<port>` or `<from>-<to>`; the node's own where that is no such text. */
function portsIn(spec: MediaClusterSpec, name: keyof typeof sipPorts): PortRange {
  const given = spec.podTemplate?.extraEnv?.find((variable) => variable.name === name)?.value ?? '';
  const text = /^\d{1,5}(-\d{1,5})?$/.test(given) ? given : sipPorts[name];
  const [from = 0, to = from] = text.split('-').map(Number);
  return { from, to };
}

function row(name: string, protocols: TrafficRow['protocols'], ports: PortRange | number, from: Sender, purpose: string): TrafficRow {
  return { name, protocols, ports: typeof ports === 'number' ? { from: ports, to: ports } : ports, from, purpose };
}
