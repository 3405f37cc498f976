// How set-up speaks and runs programs: one line per step with its time, one sentence and the line that mends it on failure.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';

/** A failure the reader can mend: a sentence, and the command line or action that mends it. */
export class SetupError extends Error {
  /**
   * @param {string} message one sentence
   * @param {string} [remedy] what to type or do
   */
  constructor(message, remedy) {
    super(message);
    this.name = 'SetupError';
    this.remedy = remedy;
  }
}

/**
 * Says what starts, runs it, says how long it took.
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
 * The last words of a set-up or test command: sentence, remedy, exit code 1. A fault of ours keeps its stack.
 * @param {unknown} error
 */
export function fail(error) {
  if (error instanceof SetupError) {
    console.error(`\n[setup] ${error.message}`);
    if (error.remedy) console.error(`[setup] To mend it: ${error.remedy}`);
  } else {
    console.error(error);
  }
  process.exitCode = 1;
}

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number} [deadline] milliseconds until the program is ended
 * @property {(line: string) => void} [onLine] sees every line of output as it comes
 * @property {number} [keep] how many characters of its output are kept, the last ones; 256 Ki
 * @property {boolean} [terminal] lets the program ask the user something (sudo's password)
 */

const keptOutput = 256 * 1024;
const killDelay = 5_000;

/**
 * Runs a program to its end and collects what it printed. A bad exit is no error here: the caller has the better sentence.
 * Rejects only when we are told to end meanwhile.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<{ code: number, output: string, timedOut: boolean }>} output: the end of both streams; code 127 when it cannot start
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
      if (end()) reject(new SetupError('Set-up was interrupted.', 'run the same command again; it goes on where it was'));
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
 * Runs a program on our own terminal until it ends, handing on the signals that ask us to end.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {string} [cwd]
 * @returns {Promise<{ code: number, signalled: boolean }>} code: as a shell counts it (128 + signal number); signalled: we were told to end
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
 * Hands SIGTERM, SIGINT and SIGHUP on to a child while it lives.
 * @param {import('node:child_process').ChildProcess} child
 * @returns {() => boolean} stops handing on; true when there was a signal
 */
function endWithParent(child) {
  let last = 0;
  let signalled = false;
  /** @param {NodeJS.Signals} signal */
  const handOn = (signal) => {
    signalled = true;
    // A terminal sends Ctrl-C to the whole foreground group: the child has it already, and a second one would mean "at once".
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    // npm hands signals on as well, so one `kill` of the group reaches us twice.
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
