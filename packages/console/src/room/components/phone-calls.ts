// Phone calls in the properties of a SIP component.
import type { Call } from '../../../../server-sdk/src/generated/schemas.ts';

export function callsOf(properties: Record<string, unknown>): Call[] {
  return Array.isArray(properties.calls) ? (properties.calls as Call[]) : [];
}
