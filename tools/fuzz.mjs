// `npm run fuzz [-- PACKETS [SEED]]`: sends mutated packets of each protocol (a million by default) to a node with a healthy room, as many
// mutated frames of Erlang distribution to a cluster, and a tenth as many mutated SDP offers and messages of LiveKit clients to the code that
// reads them.

import { join } from 'node:path';

import { ensureDependencies } from './dependencies.mjs';
import { childEnvironment, pinnedNode, root } from './paths.mjs';
import { fail, runInForeground, SetupError } from './steps.mjs';
import { TestGroup } from './test-runner/test-group.mjs';
import { ensureWorker } from './worker/worker.mjs';

const [packets = '1000000', seed = '1'] = process.argv.slice(2);

try {
  if (![packets, seed].every((value) => /^[1-9]\d{0,8}$/.test(value))) {
    throw new SetupError(`PACKETS and SEED must be whole numbers from 1, got: ${packets} ${seed}`);
  }
  await ensureDependencies();
  const worker = await ensureWorker();
  const files = [
    'hostile/mutated-packets.test.ts',
    'cluster/erlang-fuzz.test.ts',
    'unit/sdp/mutated-offers.test.ts',
    'unit/livekit/mutated-messages.test.ts',
    'unit/livekit/data-channels.test.ts',
  ].map((file) => join(root, 'test', file));
  const args = ['--test', '--test-reporter=spec', '--test-concurrency=1', ...files];
  const env = { ...childEnvironment(worker), FUZZ_PACKETS: packets, FUZZ_SEED: seed };
  // If interrupted, the tests do not stop the node that they attack.
  const group = TestGroup.make();
  try {
    const [program = '', ...rest] = [...(group?.wrap ?? []), pinnedNode, ...args];
    const { code } = await runInForeground(program, rest, env, root);
    process.exitCode = code ?? 1;
  } finally {
    group?.close();
  }
} catch (error) {
  fail(error);
}
