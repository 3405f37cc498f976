// Setup output and child processes: one line per step with its duration; on failure one message and its fix.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';

/** An error that the reader can fix: a message, and the command or action that fixes it. */
export class SetupError extends Error {
  /**
   * @param {string} message what is wrong
   * @param {string} [remedy] command or action that fixes it
   */
  constructor(message, remedy) {
    super(message);
    this.name = 'SetupError';
    this.remedy = remedy;
  }
}

/**
 * Prints the title of a step, runs it, and prints its duration.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const started = performance.now();
  console.error(`[setup] ${title} ...`);
  const result = await work();
  console.error(`[setup] ${title}: done in ${seconds(performance.now() - started)}`);
  return result;
}

/**
 * @param {number} milliseconds
 * @returns {string} e.g. `3.2 s`
 */
export function seconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/**
 * Reports the error that ends a setup or test command: message, fix, exit code 1. An unexpected error keeps its stack.
 * @param {unknown} error
 */
export function fail(error) {
  if (error instanceof SetupError) {
    console.error(`\n[setup] ${error.message}`);
    if (error.remedy) console.error(`[setup] To fix it: ${error.remedy}`);
  } else {
    console.error(error);
  }
  process.exitCode = 1;
}

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number} [deadline] milliseconds until the program is killed
 * @property {(line: string) => void} [onLine] receives every line of output at once
 * @property {number} [keep] number of characters of output that are kept, from the end; 256 Ki by default
 * @property {boolean} [terminal] lets the program prompt the user (sudo's password)
 */

const keptOutput = 256 * 1024;
const killDelay = 5_000;

/**
 * Runs a program to its end and collects its output. A non-zero exit code is not an error here: the caller has the better message.
 * Rejects only if this process receives a signal to end.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<{ code: number, output: string, timedOut: boolean }>} output: the end of both streams; code 127 if it cannot be started
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    let output = '';
    let partial = '';
    let timedOut = false;
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: [options.terminal ? 'inherit' : 'ignore', 'pipe', 'pipe'],
    });
    const end = endWithParent(child);
    /** @type {NodeJS.Timeout | undefined} */
    let killTimer;
    const deadlineTimer =
      options.deadline === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            child.kill('SIGTERM');
            killTimer = setTimeout(() => child.kill('SIGKILL'), killDelay);
          }, options.deadline);
    /** @param {Buffer} chunk */
    const take = (chunk) => {
      const text = chunk.toString('utf8');
      output = (output + text).slice(-(options.keep ?? keptOutput));
      if (!options.onLine) return;
      const lines = (partial + text).split('\n');
      partial = lines.pop() ?? '';
      for (const line of lines) options.onLine(line);
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    /** @param {number} code */
    const finish = (code) => {
      clearTimeout(deadlineTimer);
      clearTimeout(killTimer);
      if (end()) reject(new SetupError('Setup was interrupted.', 'run the same command again; it continues where it stopped'));
      else resolve({ code, output, timedOut });
    };
    child.on('error', (error) => {
      output += error.message;
      finish(127);
    });
    child.on('close', (code) => finish(code ?? 1));
  });
}

/**
 * Runs a program in the foreground of this terminal until it ends, and forwards the signals that request an end.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {string} [cwd]
 * @returns {Promise<{ code: number, signalled: boolean }>} code: as a shell counts it (128 + signal number); signalled: got such a signal
 */
export function runInForeground(command, args, env, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env, cwd });
    const end = endWithParent(child);
    child.on('error', (error) => {
      end();
      reject(error);
    });
    child.on('close', (code, signal) => {
      resolve({ code: code ?? 128 + (constants.signals[/** @type {NodeJS.Signals} */ (signal)] ?? 0), signalled: end() });
    });
  });
}

/**
 * Forwards SIGTERM, SIGINT and SIGHUP to a child while it lives.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {() => boolean} stops forwarding; true if there was a signal
 */
function endWithParent(child) {
  let last = 0;
  let signalled = false;
  /** @param {NodeJS.Signals} signal */
  const handOn = (signal) => {
    signalled = true;
    // A terminal sends Ctrl-C to the whole foreground group. The child already has it, and a second one would mean "exit immediately".
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    // npm forwards signals as well, so one `kill` of the group arrives twice.
    const now = performance.now();
    if (last > 0 && now - last < 500) return;
    last = now;
    child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
  };
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'];
  for (const signal of signals) process.on(signal, handOn);
  return () => {
    for (const signal of signals) process.off(signal, handOn);
    return signalled;
  };
}
