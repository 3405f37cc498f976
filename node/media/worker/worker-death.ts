// How a worker came to its end, and what its rooms are told of it.

/** The last packet of a worker: of the room with this router; `handling`: the worker died while it handled it. */
export type LastPacket = { routerId: string; handling: boolean };

/**
 * `orderly`: it ended itself because it got SIGINT or SIGTERM, as all processes of a terminal do. `hung`: it did not answer and was
 * killed. `lastPacket`: where its last words say so.
 */
export type WorkerDeath = { orderly: boolean; hung: boolean; lastPacket: LastPacket | undefined };

const died = 'media worker died';
const hung = 'media worker hung';
const atForeign = ' at a packet of another room';

/** Reason of `RoomCrashed`. It names no other room: whoever hears it may have nothing to do with that one. */
export function crashReason({ hung: isHung, lastPacket }: WorkerDeath, routerId: string | undefined): string {
  const end = isHung ? hung : died;
  if (!lastPacket) return end;
  if (lastPacket.routerId === routerId) return `${end} ${lastPacket.handling ? 'at' : 'after'} a packet of this room`;
  return `${end}${lastPacket.handling ? atForeign : ' after a packet of another room'}`;
}

/** Whether a room that crashed for this reason may itself be what its worker died of. */
export function isSuspicious(reason: string): boolean {
  return (reason.startsWith(died) || reason.startsWith(hung)) && !reason.endsWith(atForeign);
}
