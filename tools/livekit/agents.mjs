// `npm run agents`: LiveKit's agents framework, unmodified, with an agent that hears a tone and answers with another one. Requires root.

import { join } from 'node:path';

import { root } from '../paths.mjs';
import { runProgram } from '../program.mjs';

await runProgram(['--test', '--test-reporter=spec', join(root, 'test', 'agents', 'livekit-agents.test.ts')], { worker: true });
