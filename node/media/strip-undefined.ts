// Wire objects: mediasoup objects as they are sent.
import type { WireObject } from '../rooms/interfaces.ts';

/** Removes undefined fields, as JSON would. */
export function stripUndefined(object: object): WireObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
