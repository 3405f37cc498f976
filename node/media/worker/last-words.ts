// Last packet of a crashed media worker: parses the transport id from its stderr (tools/worker/patches).

import type { LastPacket } from './worker-death.ts';

const line = /last packet: transport ([\w-]{1,64}) (handling|handled)$/;
/** Bound for entries of workers whose death is not awaited. */
const maxKept = 64;

/** By transport id. mediasoup merges the output of all workers without naming them; transport ids are unique. */
const lastPackets = new Map<string, { handling: boolean }>();

/** Records the packet if the log line of mediasoup names one. */
export function recordLastPacket(text: string): void {
  const [, transportId, state] = line.exec(text) ?? [];
  if (transportId === undefined) return;
  lastPackets.set(transportId, { handling: state === 'handling' });
  for (const oldest of lastPackets.keys()) {
    if (lastPackets.size <= maxKept) break;
    lastPackets.delete(oldest);
  }
}

/** The last packet of one of these transports (a map to router ids); each packet is returned once. */
export function takeLastPacket(transports: ReadonlyMap<string, string>): LastPacket | undefined {
  for (const [transportId, packet] of lastPackets) {
    const routerId = transports.get(transportId);
    if (routerId === undefined) continue;
    lastPackets.delete(transportId);
    return { routerId, ...packet };
  }
  return undefined;
}
