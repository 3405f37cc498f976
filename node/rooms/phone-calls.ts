// Phone calls of a component: what callers ask for and see, and what a runner that makes calls offers.
import { z } from 'zod';

export const phoneNumberSchema = z
  .string({ error: 'to be a phone number' })
  .regex(/^\+?[0-9A-Za-z*#._-]{1,64}$/, 'to be a phone number: digits, *, #, or the name of an extension, at most 64 characters')
  .meta({ description: 'Digits with or without a leading +, * and #, or the name of an extension.' });

export const phoneCallOptionsSchema = z
  .strictObject({ phoneNumber: phoneNumberSchema })
  .meta({ id: 'CallOptions', description: 'Whom a sip component calls.' });
export type CallOptions = z.infer<typeof phoneCallOptionsSchema>;

export const callDigitsSchema = z
  .strictObject({
    digits: z
      .string()
      .regex(/^[0-9A-Da-d*#]{1,32}$/, 'to be 1 to 32 of 0-9, A-D, * and #')
      .meta({ description: 'Sent one after the other (RFC 4733).' }),
  })
  .meta({ id: 'CallDigits', description: 'Keys that are pressed in a call.' });

const callFacts = {
  id: z.string(),
  phoneNumber: z.string().meta({ description: 'Of the far side; `anonymous` where a caller does not show it.' }),
  direction: z.enum(['outgoing', 'incoming']),
};
export const callViewSchema = z
  .object({ ...callFacts, state: z.enum(['calling', 'ringing', 'active']) })
  .meta({ id: 'Call', description: 'A phone call of a sip component.' });
export type CallView = z.infer<typeof callViewSchema>;

/** A call as events tell of it. */
export const eventCallSchema = z
  .object({
    ...callFacts,
    status: z.int().optional().meta({ description: 'Status of the answer of SIP that ended it (RFC 3261, section 21).' }),
    phrase: z.string().optional().meta({ description: 'The words that came with the status.' }),
  })
  .meta({ id: 'EventCall', description: 'The phone call that an event is about.' });
export type EventCall = z.infer<typeof eventCallSchema>;

export type CallEvent =
  | { type: 'SipCallRinging' | 'SipCallStarted'; call: EventCall }
  | { type: 'SipCallEnded'; call: EventCall; reason: string }
  | { type: 'SipDigitReceived'; call: EventCall; digit: string };

/** What a runner offers that makes calls. Failures are ServiceErrors: `unavailable` where none can be made now, `call_not_found`, `conflict`. */
export interface PhoneCallRunner {
  /** Resolves when it is on its way. */
  start(phoneNumber: string): Promise<CallView>;
  /** Resolves when it is being hung up. Without an id: all calls. */
  end(callId?: string): Promise<void>;
  /** Resolves when they are sent. */
  sendDigits(callId: string, digits: string): Promise<void>;
}
