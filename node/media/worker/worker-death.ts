// Death of a media worker: its cause, and the reason that its rooms report.

/** The last packet that a worker processed: the router of its room; `handling`: the worker died while processing it. */
export type LastPacket = { routerId: string; handling: boolean };

/**
 * `orderly`: it exited because of SIGINT or SIGTERM, which a terminal sends to all processes. `hung`: it was unresponsive and was killed.
 * `lastPacket`: if its output contains it.
 */
export type WorkerDeath = { orderly: boolean; hung: boolean; lastPacket: LastPacket | undefined };

const died = 'media worker died';
const hung = 'media worker hung';
const atForeign = ' at a packet of another room';

/** Reason of `RoomCrashed`. It does not name other rooms, because its receiver may have no access to them. */
export function crashReason({ hung: isHung, lastPacket }: WorkerDeath, routerId: string | undefined): string {
  const end = isHung ? hung : died;
  if (!lastPacket) return end;
  if (lastPacket.routerId === routerId) return `${end} ${lastPacket.handling ? 'at' : 'after'} a packet of this room`;
  return `${end}${lastPacket.handling ? atForeign : ' after a packet of another room'}`;
}

/** True if a room that crashed for this reason may itself have caused the death. */
export function isSuspicious(reason: string): boolean {
  return (reason.startsWith(died) || reason.startsWith(hung)) && !reason.endsWith(atForeign);
}
