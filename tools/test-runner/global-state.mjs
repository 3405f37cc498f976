// Global state of a process that a test file can change for the files after it in a batch.

import timers from 'node:timers';

/** Objects whose functions are often replaced by a fake. */
const objects = { globalThis, process, console, Math, JSON, Date, Performance: Performance.prototype, timers, Error };
/** Listeners that libraries add when they are loaded, and that change nothing while the process runs. */
const harmless = new Set(['exit', 'beforeExit', 'warning', 'newListener', 'removeListener']);

/** Globals that libraries create for themselves. */
const ofLibraries = /^globalThis\.__/;

/** @typedef {Map<string, unknown>} GlobalState value of each name */

/** @returns {GlobalState} */
export function readState() {
  /** @type {GlobalState} */
  const state = new Map([['the working directory', process.cwd()]]);
  for (const [name, value] of Object.entries(process.env)) state.set(`process.env.${name}`, value);
  for (const event of process.eventNames().filter((each) => !harmless.has(String(each))))
    state.set(`listeners of process "${String(event)}"`, process.listenerCount(event));
  for (const [object, target] of Object.entries(objects))
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(target))) {
      const { value, get } = descriptor;
      if (typeof value === 'function' || target === globalThis) state.set(`${object}.${name}`, get ?? value);
    }
  return state;
}

/**
 * @param {GlobalState} before
 * @param {GlobalState} after
 * @returns {string[]} names of what differs, sorted
 */
export function changedState(before, after) {
  const names = new Set([...before.keys(), ...after.keys()]);
  const changed = [...names].filter((name) => {
    if (Object.is(before.get(name), after.get(name)) || isLoaded(before.get(name), after.get(name))) return false;
    return before.has(name) || !ofLibraries.test(name);
  });
  return changed.sort();
}

/**
 * @param {unknown} before
 * @param {unknown} after
 * @returns {boolean} true if a global that Node.js loads on first use was used
 */
function isLoaded(before, after) {
  return typeof before === 'function' && /^get /.test(before.name) && before.call(globalThis) === after;
}
