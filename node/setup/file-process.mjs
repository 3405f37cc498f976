// Loaded into the process of every test file: ends one that outlives its deadline and says what keeps it alive, and notes at its end how much it
// computed. node:test itself gives a deadline to tests only, and would wait for ever for a file that leaves a socket or timer open.

import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';

import { deadlineVariable, testFileVariable, usageVariable } from './paths.mjs';

const file = process.env[testFileVariable];
const deadline = Number(process.env[deadlineVariable]);
const usage = process.env[usageVariable];

// Workers and forked processes inherit --import.
if (isMainThread && file !== undefined && resolve(process.argv[1] ?? '') === file) {
  if (deadline > 0) setTimeout(endFile, deadline).unref();
  if (usage) process.on('exit', () => writeFileSync(usage, String(computed())));
}

function endFile() {
  const resources = [...new Set(process.getActiveResourcesInfo())].join(', ');
  console.error(`${file} was still running after ${deadline / 1000} s and was ended; open: ${resources || 'nothing'}`);
  process.exit(1);
}

/** @returns {number} processor time of this process and, where /proc tells (proc_pid_stat(5)), of the children it has waited for, in milliseconds */
function computed() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + ofChildren();
}

/** @returns {number} milliseconds */
function ofChildren() {
  try {
    // The name of the program is in brackets, and may hold spaces. cutime and cstime are fields 16 and 17, in ticks of 10 ms.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return 0;
  }
}
