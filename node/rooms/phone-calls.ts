// Phone calls of a component: request and view schemas, and the interface of a runner that makes calls.
import type { CallView, EventCall } from '../../api/call.ts';

export type CallEvent =
  | { type: 'SipCallRinging' | 'SipCallStarted'; call: EventCall }
  | { type: 'SipCallEnded'; call: EventCall; reason: string }
  | { type: 'SipDigitReceived'; call: EventCall; digit: string };

/**
 * A runner that makes phone calls. Failures are ServiceErrors: `unavailable` if no calls are possible now, `call_not_found`, `conflict`.
 */
export interface PhoneCallRunner {
  /** Resolves when the INVITE was sent. */
  start(phoneNumber: string): Promise<CallView>;
  /** Hangs up one call, or all calls if `callId` is omitted. Resolves when hanging up has started. */
  end(callId?: string): Promise<void>;
  /** Resolves when all digits were sent. */
  sendDigits(callId: string, digits: string): Promise<void>;
}
