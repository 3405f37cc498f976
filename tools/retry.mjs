// Retry of programs: repeats a command after a transient failure, such as a held package lock or a network error.

import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Messages of transient failures, and the number of attempts for each.
 * @type {readonly { pattern: RegExp, times: number }[]}
 */
const transient = [
  // A machine that has just started upgrades itself for minutes. apt-get waits for dpkg's lock, but not for the locks of apt itself.
  { pattern: /^E: (Could not get lock|Unable to (lock directory|acquire the dpkg frontend lock)).*/m, times: 60 },
  {
    pattern: new RegExp(
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
 * @returns {{ times: number, why: string }} number of attempts in total, and the line of output that is the reason
 */
export function retriesAfter({ code, output, timedOut }) {
  if (code === 0 || timedOut) return { times: 1, why: '' };
  for (const { pattern, times } of transient) {
    const why = pattern.exec(output)?.[0];
    if (why !== undefined) return { times, why: why.trim().slice(0, 300) };
  }
  return { times: 1, why: '' };
}

/**
 * @template {Result} T
 * @param {() => Promise<T>} work safe to repeat
 * @param {number} [wait] milliseconds between two attempts
 * @returns {Promise<T>} of the last attempt
 */
export async function runWithRetry(work, wait = pause) {
  for (let tries = 1; ; tries += 1) {
    const result = await work();
    const { times, why } = retriesAfter(result);
    if (tries >= times) return result;
    // Print the reason once, even if many attempts follow.
    if (tries === 1) console.error(`[setup]   retrying: ${why}`);
    await sleep(wait);
  }
}
