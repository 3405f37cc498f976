// `npm run render`: installs missing dependencies, then renders a recording into one MP4 file.

import { join } from 'node:path';

import { root } from './paths.mjs';
import { runProgram } from './program.mjs';

await runProgram(['--disable-warning=ExperimentalWarning', join(root, 'node', 'render.ts'), ...process.argv.slice(2)], {});
