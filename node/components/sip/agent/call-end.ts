// Maps SIP response codes to the reason of the end of a call (RFC 3261, section 21).
import type { CallEnd } from './agent-messages.ts';

const reasons: Record<number, string> = {
  401: 'forbidden',
  403: 'forbidden',
  404: 'unknown_number',
  407: 'forbidden',
  410: 'unknown_number',
  415: 'no_common_codec',
  416: 'unknown_number',
  480: 'unavailable',
  484: 'unknown_number',
  485: 'unknown_number',
  486: 'busy',
  487: 'cancelled',
  488: 'no_common_codec',
  600: 'busy',
  603: 'declined',
  604: 'unknown_number',
  606: 'no_common_codec',
};

/** `wasRinging`: separates "not answered" from "not reachable". */
export function callEndForStatus(status: number, phrase: string | undefined, wasRinging: boolean): CallEnd {
  const redirected = status >= 300 && status < 400 ? 'redirected' : undefined;
  const late = wasRinging ? 'no_answer' : 'time_out';
  const reason = redirected ?? (status === 408 ? late : (reasons[status] ?? 'failed'));
  const shown = phrase?.replaceAll(/[^ -~]/g, '').slice(0, 128);
  return { reason, status, ...(shown && { phrase: shown }) };
}
