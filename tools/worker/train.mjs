// `npm run train:worker`: records the profile of the media worker for this compiler and processor, see tools/worker/profile.mjs.
// Necessary after a change of the patches: GCC ignores the profile of a changed function. The worker forwards media of the load generator.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { ensureBuilds } from '../builds.mjs';
import { ensureDependencies } from '../dependencies.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { cacheDirectory, childEnvironment, pinnedNode, root } from '../paths.mjs';
import { fail, runInForeground, SetupError, step } from '../steps.mjs';
import { compile, compilerOf, findMeson, optimizations, prepareSource } from './build.mjs';
import { installedVersion } from './patches.mjs';
import { packProfile, profileOf, recording } from './profile.mjs';

try {
  await ensureDependencies();
  await ensurePackages(aptPackages.worker, 'building the mediasoup worker');
  await ensureBuilds();
  const compiler = await compilerOf();
  const profile = profileOf(compiler, process.arch);
  if (profile === undefined) throw new SetupError('A profile requires GCC.', 'make c++ a GCC');
  const version = installedVersion();
  mkdirSync(join(cacheDirectory(), 'worker'), { recursive: true });
  const folder = mkdtempSync(join(cacheDirectory(), 'worker', 'train-'));
  try {
    const out = join(folder, 'out');
    const options = [...optimizations(compiler), ...recording];
    const worker = await step('building a mediasoup worker that records a profile', async () => {
      const source = await prepareSource(folder, version);
      writeProfileAtExit(join(source, 'src', 'main.cpp'));
      return compile(source, out, await findMeson(), version, options);
    });
    const load = join(root, 'test', 'bench', 'train-worker.ts');
    const { code } = await runInForeground(pinnedNode, [load], childEnvironment(worker), root);
    if (code !== 0) throw new SetupError('The load on the recording worker failed.');
    mkdirSync(dirname(profile), { recursive: true });
    const counts = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.gcda'));
    await packProfile(profile, counts, out);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} catch (error) {
  fail(error);
}

/**
 * mediasoup ends with _Exit(), which writes no profile.
 * @param {string} main its file
 */
function writeProfileAtExit(main) {
  writeFileSync(main, readFileSync(main, 'utf8').replaceAll('std::_Exit(', 'std::exit('));
}
