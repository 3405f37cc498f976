// What workers that died of a fault said at last on stderr: which transport got the last packet (tools/worker/patches).

import type { LastPacket } from './worker-death.ts';

const line = /last packet: transport ([\w-]{1,64}) (handling|handled)$/;
/** Of workers whose end nobody waits for. */
const maxKept = 64;

/** By transport. mediasoup hands on what workers say for the whole process, without saying which: ids of transports are unique. */
const spoken = new Map<string, { handling: boolean }>();

/** To be given what mediasoup logs. */
export function hear(text: string): void {
  const [, transportId, state] = line.exec(text) ?? [];
  if (transportId === undefined) return;
  spoken.set(transportId, { handling: state === 'handling' });
  for (const oldest of spoken.keys()) {
    if (spoken.size <= maxKept) break;
    spoken.delete(oldest);
  }
}

/** What was said of one of these transports, given with the router of each; told once. */
export function lastWordsOf(transports: ReadonlyMap<string, string>): LastPacket | undefined {
  for (const [transportId, words] of spoken) {
    const routerId = transports.get(transportId);
    if (routerId === undefined) continue;
    spoken.delete(transportId);
    return { routerId, ...words };
  }
  return undefined;
}
