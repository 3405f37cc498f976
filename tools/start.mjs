// `npm start`: installs missing dependencies, then runs one node in the foreground. Works with Node.js 18 or newer.

import { join } from 'node:path';

import { nodeFlags, root } from './paths.mjs';
import { runProgram } from './program.mjs';

await runProgram([...nodeFlags, join(root, 'node', 'main.ts'), ...process.argv.slice(2)], {
  worker: true,
  builds: true,
  cwd: process.cwd(),
});
