// mediasoup's objects as they go over the wire.
import type { WireObject } from '../rooms/interfaces.ts';

/** Without the fields that are undefined, which JSON would drop. */
export function stripUndefined(object: object): WireObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
