// Phone calls of a component: request bodies, views, and calls in events.
import { z } from 'zod';

const phoneNumberSchema = z
  .string({ error: 'to be a phone number' })
  .regex(/^\+?[0-9A-Za-z*#._-]{1,64}$/, 'to be a phone number: digits, *, #, or the name of an extension, at most 64 characters')
  .meta({ description: 'Digits with an optional leading +, * and #, or the name of an extension.' });

export const phoneCallOptionsSchema = z
  .strictObject({ phoneNumber: phoneNumberSchema })
  .meta({ id: 'CallOptions', description: 'Callee of a sip component.' });
export type CallOptions = z.infer<typeof phoneCallOptionsSchema>;

export const callDigitsSchema = z
  .strictObject({
    digits: z
      .string()
      .regex(/^[0-9A-Da-d*#]{1,32}$/, 'to be 1 to 32 of 0-9, A-D, * and #')
      .meta({ description: 'Sent in sequence (RFC 4733).' }),
  })
  .meta({ id: 'CallDigits', description: 'DTMF digits to send in a call.' });

const callFacts = {
  id: z.string(),
  phoneNumber: z.string().meta({ description: 'Number of the remote party; `anonymous` if the caller withholds it.' }),
  direction: z.enum(['outgoing', 'incoming']),
};
export const callViewSchema = z
  .object({ ...callFacts, state: z.enum(['calling', 'ringing', 'active']) })
  .meta({ id: 'Call', description: 'A phone call of a sip component.' });
export type CallView = z.infer<typeof callViewSchema>;

/** A call as events contain it. */
export const eventCallSchema = z
  .object({
    ...callFacts,
    status: z.int().optional().meta({ description: 'Status code of the SIP response that ended the call (RFC 3261, section 21).' }),
    phrase: z.string().optional().meta({ description: 'Reason phrase of the status.' }),
  })
  .meta({ id: 'EventCall', description: 'The phone call that an event is about.' });
export type EventCall = z.infer<typeof eventCallSchema>;
