// Which ports a pod takes: consecutive free blocks, and what a refused node port teaches.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ClusterContext, PortRange } from '../cluster-context.ts';

const nodePortRange: PortRange = { from: 30_000, to: 32_767 };
const firstMediaPort = 50_000;

export type BlockPort = { port: number; protocols: readonly ('UDP' | 'TCP')[] };
export type Exposure = NonNullable<MediaClusterSpec['media']>['exposure'];

export function exposureOf(spec: MediaClusterSpec): Exposure {
  return spec.media?.exposure ?? 'nodePort';
}

/** Ports of a pod: one for each worker, behind these one of TURN and one of TURN over TLS, and behind these those of SIP. */
export function portBlockSize(spec: MediaClusterSpec): number {
  return sipOffset(spec) + (spec.sip ? spec.sip.components + spec.sip.calls : 0);
}

function sipOffset(spec: MediaClusterSpec): number {
  return spec.workersPerNode + turnPorts(spec);
}

/** Ports of SIP and of the sound of its calls in the block, all of UDP; undefined where there is no SIP. */
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

/** Port of TURN in the block; undefined where TURN is off. */
export function turnPort(spec: MediaClusterSpec, basePort: number): number | undefined {
  return turnPorts(spec) > 0 ? basePort + spec.workersPerNode : undefined;
}

/** Port of TURN over TLS in the block; undefined where there is no certificate for it. */
export function turnTlsPort(spec: MediaClusterSpec, basePort: number): number | undefined {
  return turnPorts(spec) > 1 ? basePort + spec.workersPerNode + 1 : undefined;
}

/** All ports of the block that begins at `basePort`, and what is spoken there. */
export function portsOf(spec: MediaClusterSpec, basePort: number): BlockPort[] {
  const both = sipOffset(spec);
  return Array.from({ length: portBlockSize(spec) }, (_, offset) => ({
    port: basePort + offset,
    protocols: offset < both ? ['UDP', 'TCP'] : ['UDP'],
  }));
}

/** The range that blocks of a cluster are taken from. */
export function mediaRange(spec: MediaClusterSpec, facts: Pick<ClusterContext, 'nodePortRange'>): PortRange {
  const exposure = exposureOf(spec);
  if (exposure === 'nodePort') return spec.media?.ports ?? facts.nodePortRange ?? nodePortRange;
  const { from, to } = spec.media?.ports ?? { from: firstMediaPort, to: undefined };
  // Pods with addresses of their own all use the same ports; where they share that of a host, each index has its own.
  const blocks = exposure === 'hostPort' || exposure === 'hostNetwork' ? spec.maxReplicas + 1 : 1;
  return { from, to: to ?? Math.min(65_535, from + blocks * portBlockSize(spec) - 1) };
}

/**
 * First port of the lowest block of `size` consecutive ports in the range of which none is used; undefined where there is none.
 * Ports that were refused as allocated count as used.
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
 * First port of the pod of an index, where it needs no allocation (every exposure but nodePort). Undefined where the range has no block for
 * that index.
 */
export function fixedPortBlock(spec: MediaClusterSpec, index: number): number | undefined {
  const { from, to } = mediaRange(spec, {});
  const exposure = exposureOf(spec);
  const base = exposure === 'hostPort' || exposure === 'hostNetwork' ? from + index * portBlockSize(spec) : from;
  return base + portBlockSize(spec) - 1 <= to ? base : undefined;
}

type WithPorts = { spec?: { containers?: readonly { ports?: readonly { name?: string; containerPort: number }[] }[] } };

/** The block that a pod was made with, whatever its cluster says by now. */
export function mediaPortsOf(pod: WithPorts): PortRange | undefined {
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const media = ports.filter(({ name }) => /^(udp|tcp)-\d+$/.test(name ?? '')).map(({ containerPort }) => containerPort);
  return media.length === 0 ? undefined : { from: Math.min(...media), to: Math.max(...media) };
}

/** Node ports that an API server refused since somebody has them: the ports of its sentence (`provided port is already allocated`). */
export function allocatedPorts(message: string): number[] {
  const found = message.matchAll(/nodePort: Invalid value: "?(\d{1,5})"?: provided port is already allocated/g);
  return [...new Set([...found].map((match) => Number(match[1])))];
}

/** The range of node ports of an API server that refused one outside of it; undefined where the message says nothing of it. */
export function portRangeOf(message: string): PortRange | undefined {
  const match = /The range of valid ports is (\d{1,5})-(\d{1,5})/i.exec(message);
  return match ? { from: Number(match[1]), to: Number(match[2]) } : undefined;
}
