// eventually(): the only wait of the tests for a condition; it polls, and polls at once on events.
import { AssertionError } from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
// Not the global ones, so that a test can mock timers.
import { clearTimeout, setTimeout } from 'node:timers';
import { inspect } from 'node:util';

export type EventuallyOptions = {
  /** Timeout in milliseconds. */
  within?: number;
  /** Maximum interval between two polls, in milliseconds. */
  every?: number;
  /** Subscribes `wake` to events that may change the result, and returns the unsubscribe function: emits() for an emitter. */
  wakes?: (wake: () => void) => () => void;
};

/** Type of a result that ends a wait. */
export type Truthy<Answer> = Exclude<NonNullable<Answer>, false | 0 | ''>;

/** Maximum length of the last result in a failure message; the full status of a pod is too long to read. */
const maxAnswerMs = 4_000;

/**
 * Polls at once, then on each event of `wakes`, and at least every `every` milliseconds.
 * @param what condition in the failure message: a text, or a function that creates it from the final state
 * @param check the poll; an error that it throws ends the wait. One poll may take as long as the timeout.
 * @returns the first truthy result
 * @throws AssertionError after the timeout, with `what`, the duration and the last result
 */
export async function eventually<Answer>(
  what: string | (() => string | Promise<string>),
  check: () => Answer | Promise<Answer>,
  { within = 60_000, every = 50, wakes }: EventuallyOptions = {},
): Promise<Truthy<Answer>> {
  let woken = Promise.withResolvers<void>();
  const cancel = wakes?.(() => woken.resolve());
  const start = performance.now();
  let last: unknown = 'none: the poll did not finish';
  try {
    for (;;) {
      // Reset before the poll, because an event during the poll may be too late for its result.
      woken = Promise.withResolvers<void>();
      const answer = await orNothing(Promise.resolve(check()), within);
      if (answer === nothing) break;
      if (answer) return answer as Truthy<Answer>;
      last = answer;
      if (performance.now() - start >= within) break;
      await orNothing(woken.promise, every);
    }
  } finally {
    cancel?.();
  }
  const answer = inspect(last, { depth: 8 });
  const cut = answer.length > maxAnswerMs ? `${answer.slice(0, maxAnswerMs)}…` : answer;
  const message = `${typeof what === 'string' ? what : await what()}: not within ${within} ms; last result: ${cut}`;
  throw new AssertionError({ message, stackStartFn: eventually });
}

/** `wakes` of eventually(): wakes on each of these events. */
export function emits(source: Pick<EventEmitter, 'on' | 'off'>, ...events: string[]): (wake: () => void) => () => void {
  return (wake) => {
    for (const event of events) source.on(event, wake);
    return () => {
      for (const event of events) source.off(event, wake);
    };
  };
}

const nothing = Symbol('nothing');

/** @returns the result of the promise, or `nothing` after that many milliseconds. */
async function orNothing<Value>(promised: Promise<Value>, milliseconds: number): Promise<Value | typeof nothing> {
  const late = Promise.withResolvers<typeof nothing>();
  const timer = setTimeout(() => late.resolve(nothing), milliseconds);
  try {
    return await Promise.race([promised, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
