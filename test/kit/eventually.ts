// The one wait of the tests for what comes to hold: told of it by an event where there is one, by looking again where there is none.
import { AssertionError } from 'node:assert/strict';
import type { EventEmitter } from 'node:events';
// Not the global ones: a test that mocks timers waits too.
import { clearTimeout, setTimeout } from 'node:timers';
import { inspect } from 'node:util';

export type EventuallyOptions = {
  /** Milliseconds until it fails. */
  within?: number;
  /** Milliseconds between two looks, at most. */
  every?: number;
  /** Subscribes `wake` to what may change the answer, and returns what ends that: emits() for an emitter. */
  wakes?: (wake: () => void) => () => void;
};

/** What an answer is that ends a wait. */
export type Truthy<Answer> = Exclude<NonNullable<Answer>, false | 0 | ''>;

/** Of the last answer in a failure; a whole status of a pod is more than anyone reads. */
const maxAnswerMs = 4_000;

/**
 * Looks at once, then each time `wakes` tells, and at latest each `every` milliseconds.
 * @param what in a failure: a sentence, or a function that makes it of the state at the end
 * @param look what it throws ends the wait. One look may last as long as the whole wait.
 * @returns the first answer that is truthy
 * @throws AssertionError if there is none, with `what`, the time and the last answer
 */
export async function eventually<Answer>(
  what: string | (() => string | Promise<string>),
  look: () => Answer | Promise<Answer>,
  { within = 60_000, every = 50, wakes }: EventuallyOptions = {},
): Promise<Truthy<Answer>> {
  let woken = Promise.withResolvers<void>();
  const cancel = wakes?.(() => woken.resolve());
  const start = performance.now();
  let last: unknown = 'none: the look did not end';
  try {
    for (;;) {
      // Before the look: what happens during it may have come too late for its answer.
      woken = Promise.withResolvers<void>();
      const answer = await orNothing(Promise.resolve(look()), within);
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
  const message = `${typeof what === 'string' ? what : await what()}: not within ${within} ms; the last answer was ${cut}`;
  throw new AssertionError({ message, stackStartFn: eventually });
}

/** `wakes` of eventually(): each of these events. */
export function emits(source: Pick<EventEmitter, 'on' | 'off'>, ...events: string[]): (wake: () => void) => () => void {
  return (wake) => {
    for (const event of events) source.on(event, wake);
    return () => {
      for (const event of events) source.off(event, wake);
    };
  };
}

const nothing = Symbol('nothing');

/** @returns what is promised, or `nothing` if it does not come in that many milliseconds. */
async function orNothing<Value>(promised: Promise<Value>, milliseconds: number): Promise<Value | typeof nothing> {
  const late = Promise.withResolvers<typeof nothing>();
  const timer = setTimeout(() => late.resolve(nothing), milliseconds);
  try {
    return await Promise.race([promised, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
