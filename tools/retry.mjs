// Runs a program again where what kept it from its work passes by itself: another one at work, or a network with a hiccup.

import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What programs say, and how often they are run then.
 * @type {readonly { says: RegExp, times: number }[]}
 */
const passing = [
  // Machines that have just started upgrade themselves, for minutes. apt-get waits for dpkg's lock, and for none of its own.
  { says: /^E: (Could not get lock|Unable to (lock directory|acquire the dpkg frontend lock)).*/m, times: 60 },
  {
    says: new RegExp(
      [
        '\\b(ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|E429|E50[0234])\\b',
        'socket hang up|premature close|temporary failure|failed to fetch|hash sum mismatch|server misbehaving|stream error',
        'connection (reset|broken|timed out|failed)|read timed out|(i/o|handshake) timeout|unexpected EOF',
        '429 Too Many Requests|500 Internal Server Error|502 Bad Gateway|503 Service Unavailable|504 Gateway Time-?out',
      ]
        .map((each) => `.*(${each}).*`)
        .join('|'),
      'i',
    ),
    times: 3,
  },
];

const pause = 10_000;

/** @typedef {{ code: number, output: string, timedOut: boolean }} Result */

/**
 * @param {Result} result of a program
 * @returns {{ times: number, why: string }} how often it is run, all in all, and the line that says why
 */
export function retriesAfter({ code, output, timedOut }) {
  if (code === 0 || timedOut) return { times: 1, why: '' };
  for (const { says, times } of passing) {
    const why = says.exec(output)?.[0];
    if (why !== undefined) return { times, why: why.trim().slice(0, 300) };
  }
  return { times: 1, why: '' };
}

/**
 * @template {Result} T
 * @param {() => Promise<T>} work that can be done again
 * @param {number} [wait] milliseconds between two tries
 * @returns {Promise<T>} of the last try
 */
export async function runWithRetry(work, wait = pause) {
  for (let tries = 1; ; tries += 1) {
    const result = await work();
    const { times, why } = retriesAfter(result);
    if (tries >= times) return result;
    // One who waits for minutes is told once.
    if (tries === 1) console.error(`[setup]   it is tried again: ${why}`);
    await sleep(wait);
  }
}
