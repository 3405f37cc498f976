// Ports of a pod: allocates consecutive free blocks and parses rejections of node ports.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext, PortRange } from '../cluster-context.ts';
import { indexCount } from '../names.ts';

const nodePortRange: PortRange = { from: 30_000, to: 32_767 };
const firstMediaPort = 50_000;

export type BlockPort = { port: number; protocols: readonly ('UDP' | 'TCP')[] };
export type Exposure = NonNullable<MediaClusterSpec['media']>['exposure'];

export function exposureOf(spec: MediaClusterSpec): Exposure {
  return spec.media?.exposure ?? 'nodePort';
}

/** Ports of a pod: one for each worker, then one for TURN and one for TURN over TLS, then those of SIP. */
export function portBlockSize(spec: MediaClusterSpec): number {
  return sipOffset(spec) + (spec.sip ? spec.sip.components + spec.sip.calls : 0);
}

function sipOffset(spec: MediaClusterSpec): number {
  return spec.workersPerNode + turnPorts(spec);
}

/** UDP ports of SIP and of the audio of its calls in the block; undefined without SIP. */
export function sipPorts(spec: MediaClusterSpec, basePort: number): { signalling: PortRange; calls: PortRange } | undefined {
  if (!spec.sip) return undefined;
  const from = basePort + sipOffset(spec);
  const calls = from + spec.sip.components;
  return { signalling: { from, to: calls - 1 }, calls: { from: calls, to: calls + spec.sip.calls - 1 } };
}

function turnPorts({ turn }: MediaClusterSpec): 0 | 1 | 2 {
  if (turn?.enabled !== true) return 0;
  return turn.tlsSecretName === undefined ? 1 : 2;
}

/** Port of TURN in the block; undefined if TURN is off. */
export function turnPort(spec: MediaClusterSpec, basePort: number): number | undefined {
  return turnPorts(spec) > 0 ? basePort + spec.workersPerNode : undefined;
}

/** Port of TURN over TLS in the block; undefined without a certificate. */
export function turnTlsPort(spec: MediaClusterSpec, basePort: number): number | undefined {
  return turnPorts(spec) > 1 ? basePort + spec.workersPerNode + 1 : undefined;
}

/** All ports of the block that begins at `basePort`, with their protocols. */
export function portsOf(spec: MediaClusterSpec, basePort: number): BlockPort[] {
  const both = sipOffset(spec);
  return Array.from({ length: portBlockSize(spec) }, (_, offset) => ({
    port: basePort + offset,
    protocols: offset < both ? ['UDP', 'TCP'] : ['UDP'],
  }));
}

/** The range from which blocks of a cluster are allocated. */
export function mediaRange(spec: MediaClusterSpec, facts: Pick<ClusterContext, 'nodePortRange'>): PortRange {
  const exposure = exposureOf(spec);
  if (exposure === 'nodePort') return spec.media?.ports ?? facts.nodePortRange ?? nodePortRange;
  const { from, to } = spec.media?.ports ?? { from: firstMediaPort, to: undefined };
  // Pods with separate addresses use the same ports; pods that share a host address need one block per index.
  const blocks = exposure === 'hostPort' || exposure === 'hostNetwork' ? indexCount({ spec }) : 1;
  return { from, to: to ?? Math.min(65_535, from + blocks * portBlockSize(spec) - 1) };
}

/**
 * First port of the lowest block of `size` consecutive unused ports in the range; undefined if none exists. Ports rejected as allocated
 * count as used.
 */
export function allocatePortBlock(range: PortRange, size: number, used: ReadonlySet<number>): number | undefined {
  let base = range.from;
  for (let port = range.from; port <= range.to; port += 1) {
    if (used.has(port)) base = port + 1;
    else if (port - base + 1 === size) return base;
  }
  return undefined;
}

/**
 * First port of the pod of an index, for exposures without allocation (all but nodePort). Undefined if the range has no block for that
 * index. A spare index has the block of the lost pod that it replaces, which is on another Kubernetes node.
 */
export function fixedPortBlock(spec: MediaClusterSpec, index: number): number | undefined {
  const { from, to } = mediaRange(spec, {});
  const exposure = exposureOf(spec);
  const base = exposure === 'hostPort' || exposure === 'hostNetwork' ? from + (index % indexCount({ spec })) * portBlockSize(spec) : from;
  return base + portBlockSize(spec) - 1 <= to ? base : undefined;
}

type WithPorts = { spec?: { containers?: readonly { ports?: readonly { name?: string; containerPort: number }[] }[] } };

/** The block with which a pod was created, independent of the current spec. */
export function mediaPortsOf(pod: WithPorts): PortRange | undefined {
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const media = ports.filter(({ name }) => /^(udp|tcp)-\d+$/.test(name ?? '')).map(({ containerPort }) => containerPort);
  return media.length === 0 ? undefined : { from: Math.min(...media), to: Math.max(...media) };
}

/** Node ports that the API server rejected as in use, parsed from its message (`provided port is already allocated`). */
export function allocatedPorts(message: string): number[] {
  const found = message.matchAll(/nodePort: Invalid value: "?(\d{1,5})"?: provided port is already allocated/g);
  return [...new Set([...found].map((match) => Number(match[1])))];
}

/** Node port range from a rejection by the API server; undefined if the message does not contain it. */
export function portRangeOf(message: string): PortRange | undefined {
  const match = /The range of valid ports is (\d{1,5})-(\d{1,5})/i.exec(message);
  return match ? { from: Number(match[1]), to: Number(match[2]) } : undefined;
}
