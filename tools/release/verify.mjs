// `npm run release:verify`: publishes a release to local registries, installs it from there and waits for first media.

import { join } from 'node:path';
import { ensureDependencies } from '../dependencies.mjs';
import { ensureImages } from '../images/images.mjs';
import { clusterPrograms, ensureKubernetes } from '../kubernetes/kubernetes.mjs';
import { aptPackages, ensurePackages } from '../packages.mjs';
import { childEnvironment, pinnedNode, root } from '../paths.mjs';
import { fail, runInForeground, SetupError } from '../steps.mjs';
import { ensureCosign } from './signatures.mjs';
import { ensureVerdaccio } from './verdaccio.mjs';

try {
  if (process.getuid?.() !== 0)
    throw new SetupError('The cluster requires root: its machines are Linux namespaces.', 'sudo npm run release:verify');
  await ensureDependencies();
  const { machines, browser, release } = aptPackages;
  await ensurePackages([...new Set([...machines, ...browser, ...release])], 'a cluster and an image registry');
  await ensureKubernetes(clusterPrograms);
  await ensureCosign();
  await ensureVerdaccio();
  await ensureImages();
  const args = ['--test', '--test-reporter=spec', join(root, 'test', 'release', 'release.test.ts')];
  const { code } = await runInForeground(pinnedNode, args, childEnvironment(), root);
  process.exitCode = code;
} catch (error) {
  fail(error);
}
