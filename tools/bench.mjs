// `npm run bench`: installs missing dependencies, then runs the benchmarks.

import { join } from 'node:path';

import { aptPackages } from './packages.mjs';
import { root } from './paths.mjs';
import { runProgram } from './program.mjs';

const args = [join(root, 'test', 'bench', 'run.ts'), ...process.argv.slice(2)];
await runProgram(args, { worker: true, packages: [aptPackages.browser, 'the benchmarks'], builds: true });
