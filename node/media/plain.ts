// mediasoup's objects as they go over the wire.
import type { WireObject } from '../rooms/ports.ts';

/** Without the fields that are undefined, which JSON would drop. */
export function plain(object: object): WireObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
