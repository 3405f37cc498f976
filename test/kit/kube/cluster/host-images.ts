// Images as containerd keeps them, unpacked once in the cache directory: each host of each cluster begins with them, without a copy of what never changes.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imagesDirectory } from '../../../../tools/images/store.mjs';
import { withLock } from '../../../../tools/lock.mjs';
import { cacheDirectory } from '../../../../tools/paths.mjs';
import { eventually } from '../../eventually.ts';
import { Child } from '../child.ts';
import { runCommand } from './command.ts';
import { Machine } from './machine.ts';

/** Raised when what is kept changes. */
const recipe = 1;
const kept = 2;
const startTimeoutMs = 120_000;
const importTimeoutMs = 180_000;
const copyTimeoutMs = 180_000;

/** @param archives paths of OCI archives @returns a folder as containerd has it, which nobody may change */
export async function hostImages(archives: readonly string[]): Promise<string> {
  const all = join(imagesDirectory(), 'hosts');
  // Each has in its name what it was made of; its time is that of its last use.
  const files = archives.map((path) => [path, statSync(path).size]);
  const folder = join(
    all,
    createHash('sha256')
      .update(JSON.stringify([recipe, files]))
      .digest('hex')
      .slice(0, 16),
  );
  // Files that begin at once need it once.
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

/** Gives a host these images, before its containerd starts. @param root of that containerd; it is not there yet */
export async function placeImages(images: string, root: string): Promise<void> {
  // Contents of images are never written to again, so they need no place of their own; where that is not possible they are copied.
  const linked = await runCommand(['cp', '-al', images, root], { timeoutMs: copyTimeoutMs, mayFail: true });
  if (linked.code !== 0) {
    rmSync(root, { recursive: true, force: true });
    await runCommand(['cp', '-a', images, root], { timeoutMs: copyTimeoutMs });
    return;
  }
  // Its books are written to.
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
    await eventually(() => `containerd answers:\n${containerd.tail()}`, answers, { within: startTimeoutMs });
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
