// Connection test messages: one for each media path and a summary.
import type { ServerResult, Way, WayResult } from '@mediarooms/client';

/** `info`: neutral. */
export type CheckStatus = 'good' | 'warning' | 'bad' | 'info';
export type CheckResult = { mark: CheckStatus; message: string };

const took = (roundTrip: number | undefined): string =>
  roundTrip === undefined ? '' : `, round trip ${Math.max(1, Math.round(roundTrip))} ms`;

export function serverResult(result: ServerResult): CheckResult {
  if (result.state === 'open') return { mark: 'good', message: `The server is reachable${took(result.roundTrip)}.` };
  if (result.state === 'closed') {
    return {
      mark: 'bad',
      message: 'Cannot reach the server. Check your internet connection; a firewall may be blocking it, or the server is down.',
    };
  }
  if (/_not_found$|^room_ended$|^not_found$/.test(result.code))
    return { mark: 'bad', message: 'This room has ended or your invitation is no longer valid. Ask for a new link.' };
  if (/token|forbidden/.test(result.code)) return { mark: 'bad', message: 'This link is invalid or expired. Ask for a new one.' };
  return { mark: 'bad', message: `The connection test is not available: ${result.message}.` };
}

const open: Record<Way, (result: WayResult & { state: 'open' }) => string> = {
  udp: ({ roundTrip }) => `Direct media connection (UDP) works${took(roundTrip)}.`,
  tcp: ({ roundTrip }) => `Media over TCP works${took(roundTrip)}.`,
  relay: ({ roundTrip, over }) => `TURN relay works${over ? ` over ${over.toUpperCase()}` : ''}${took(roundTrip)}.`,
};

const closed: Record<Way, string> = {
  udp: 'UDP is blocked by a firewall.',
  tcp: 'TCP to the media port is blocked by a firewall.',
  relay: 'The TURN relay is unreachable or rejected the credentials.',
};

const none: Record<Way, string> = {
  udp: 'Direct media connections (UDP) are not configured.',
  tcp: 'Media over TCP is not configured.',
  relay: 'No TURN relay is configured. It is only needed if UDP and TCP are blocked.',
};

/** @param others results of the other paths: a failure is bad only if no other path works */
export function pathResult(result: WayResult, others: readonly WayResult[]): CheckResult {
  if (result.state === 'open') return { mark: 'good', message: open[result.way](result) };
  if (result.state === 'none') return { mark: 'info', message: none[result.way] };
  const elsewhere = others.some(({ state }) => state === 'open');
  return { mark: elsewhere ? 'warning' : 'bad', message: closed[result.way] };
}

/** Summary of all paths. @param ways every path once */
export function checkSummary(ways: readonly WayResult[]): CheckResult {
  const isOpen = (way: Way) => ways.some((each) => each.way === way && each.state === 'open');
  if (isOpen('udp')) return { mark: 'good', message: 'Your network is ready for audio and video.' };
  if (isOpen('tcp'))
    return {
      mark: 'warning',
      message: 'Audio and video work over TCP but may stutter. Allow UDP in your firewall or use another network for better quality.',
    };
  if (isOpen('relay')) return { mark: 'warning', message: 'Audio and video work through a relay, with slightly higher latency.' };
  return {
    mark: 'bad',
    message:
      'You can join and chat, but audio and video will not work. Try another network, for example a phone hotspot, or turn off your VPN.',
  };
}
