// What was found of the network, in plain sentences: one for each way, and one for all together.
import type { ServerResult, Way, WayResult } from '@mediarooms/client';

/** `info`: neither good nor bad. */
export type CheckStatus = 'good' | 'warning' | 'bad' | 'info';
export type CheckResult = { mark: CheckStatus; sentence: string };

const took = (roundTrip: number | undefined): string => (roundTrip === undefined ? '' : ` in ${Math.max(1, Math.round(roundTrip))} ms`);

export function serverResult(result: ServerResult): CheckResult {
  if (result.state === 'open') return { mark: 'good', sentence: `The server answers${took(result.roundTrip)}.` };
  if (result.state === 'closed') {
    return {
      mark: 'bad',
      sentence: 'The server does not answer. Check that you are online; if you are, a firewall or the server itself is down.',
    };
  }
  if (/_not_found$|^room_ended$|^not_found$/.test(result.code))
    return { mark: 'bad', sentence: 'The server answers, but this room has ended or your place in it is gone. Ask for a new link.' };
  if (/token|forbidden/.test(result.code))
    return { mark: 'bad', sentence: 'The server answers, but does not take this link: it may be too old. Ask for a new one.' };
  return { mark: 'bad', sentence: `The server answers, but lets nothing be tried now: ${result.message}.` };
}

const open: Record<Way, (result: WayResult & { state: 'open' }) => string> = {
  udp: ({ roundTrip }) => `The direct way for sound and pictures is open${took(roundTrip)}.`,
  tcp: ({ roundTrip }) => `The detour for networks that block UDP is open${took(roundTrip)}.`,
  relay: ({ roundTrip, over }) => `The relay can be reached${over ? ` over ${over.toUpperCase()}` : ''}${took(roundTrip)}.`,
};

const closed: Record<Way, string> = {
  udp: 'The direct way is blocked: a firewall lets no UDP through.',
  tcp: 'The detour over TCP is blocked: a firewall lets nothing through to the media port of the server.',
  relay: 'The relay cannot be reached, or does not let you through.',
};

const none: Record<Way, string> = {
  udp: 'This server offers no direct way.',
  tcp: 'This server offers no detour over TCP.',
  relay: 'This server has no relay. That matters only where the other ways are blocked.',
};

/** @param others what is known of the other ways: what fails is bad only where nothing else works */
export function pathResult(result: WayResult, others: readonly WayResult[]): CheckResult {
  if (result.state === 'open') return { mark: 'good', sentence: open[result.way](result) };
  if (result.state === 'none') return { mark: 'info', sentence: none[result.way] };
  const elsewhere = others.some(({ state }) => state === 'open');
  return { mark: elsewhere ? 'warning' : 'bad', sentence: closed[result.way] };
}

/** All together. @param ways every way, once */
export function checkSummary(ways: readonly WayResult[]): CheckResult {
  const isOpen = (way: Way) => ways.some((each) => each.way === way && each.state === 'open');
  if (isOpen('udp')) return { mark: 'good', sentence: 'Your connection is fine for calls.' };
  if (isOpen('tcp'))
    return {
      mark: 'warning',
      sentence: 'Calls work, over TCP: on a bad network they may stutter. Another network, or UDP let through by your firewall, is better.',
    };
  if (isOpen('relay'))
    return { mark: 'warning', sentence: 'Calls work, over a relay: sound and pictures come a little later than on the direct way.' };
  return {
    mark: 'bad',
    sentence:
      'You can join and write messages, but nobody would see or hear you. Try another network, such as the hotspot of a phone, or turn off your VPN.',
  };
}
