// Images unpacked by containerd once in the cache directory: each Kubernetes node of each cluster links them without a copy.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imagesDirectory } from '../../../../tools/images/store.mjs';
import { withLock } from '../../../../tools/lock.mjs';
import { cacheDirectory } from '../../../../tools/paths.mjs';
import { eventually } from '../../eventually.ts';
import { runCommand } from '../../processes/command.ts';
import { Child } from '../child.ts';
import { Machine } from './machine.ts';

/** Raised when the cached format changes. */
const recipe = 1;
const kept = 2;
const startTimeoutMs = 120_000;
const importTimeoutMs = 180_000;
const copyTimeoutMs = 180_000;

/** @param archives paths of OCI archives @returns a read-only folder in the format of containerd */
export async function hostImages(archives: readonly string[]): Promise<string> {
  const all = join(imagesDirectory(), 'hosts');
  // The name contains the inputs; the modification time is that of the last use.
  const files = archives.map((path) => [path, statSync(path).size]);
  const folder = join(
    all,
    createHash('sha256')
      .update(JSON.stringify([recipe, files]))
      .digest('hex')
      .slice(0, 16),
  );
  // Concurrent test files need it only once.
  return withLock(join(cacheDirectory(), 'locks', 'host-images'), async () => {
    if (!existsSync(folder)) {
      mkdirSync(all, { recursive: true });
      const work = mkdtempSync(join(all, '.make-'));
      try {
        await importAll(work, archives);
        renameSync(join(work, 'root'), folder);
      } finally {
        rmSync(work, { recursive: true, force: true });
      }
    }
    utimesSync(folder, new Date(), new Date());
    forgetOld(all);
    return folder;
  });
}

/** Links the images into the folder of a Kubernetes node before its containerd starts. @param root of that containerd; must not exist */
export async function placeImages(images: string, root: string): Promise<void> {
  // Image content is never written again, so hard links suffice; if they are not possible it is copied.
  const linked = await runCommand(['cp', '-al', images, root], { timeoutMs: copyTimeoutMs, mayFail: true });
  if (linked.code !== 0) {
    rmSync(root, { recursive: true, force: true });
    await runCommand(['cp', '-a', images, root], { timeoutMs: copyTimeoutMs });
    return;
  }
  // The databases are written.
  const { stdout } = await runCommand(['find', root, '-name', '*.db', '-not', '-path', '*/snapshots/*']);
  for (const book of stdout.split('\n').filter((path) => path !== '')) {
    await runCommand(['cp', '-a', book, `${book}.own`]);
    renameSync(`${book}.own`, book);
  }
}

async function importAll(work: string, archives: readonly string[]): Promise<void> {
  const config = join(work, 'containerd.toml');
  const disabled = 'disabled_plugins = ["io.containerd.grpc.v1.cri"]';
  writeFileSync(config, `version = 2\nroot = "${join(work, 'root')}"\nstate = "/run/containerd"\n${disabled}\n`);
  const machine = await Machine.start({ name: 'images' });
  try {
    const containerd = new Child(['containerd', `--config=${config}`], { log: join(work, 'log'), wrap: machine.wrap });
    const answers = async () => (await machine.run(['ctr', '--timeout', '2s', 'version'], { mayFail: true })).code === 0;
    await eventually(() => `containerd responds:\n${containerd.tail()}`, answers, { within: startTimeoutMs });
    for (const archive of archives) await machine.run(['ctr', '-n', 'k8s.io', 'images', 'import', archive], { timeoutMs: importTimeoutMs });
    await containerd.stop('SIGTERM');
  } finally {
    await machine.kill();
  }
}

function forgetOld(all: string): void {
  const folders = readdirSync(all)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(all, name))
    .sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  for (const folder of folders.slice(kept)) rmSync(folder, { recursive: true, force: true });
}
