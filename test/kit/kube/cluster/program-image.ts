// Builds an image with one static program as an OCI archive in the cache directory, for add-ons of a cluster.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { imagesDirectory } from '../../../../tools/images/store.mjs';
import { runCommand } from '../../processes/command.ts';

/** Raised when the recipe changes. */
const recipe = 1;
const tarTimeoutMs = 120_000;

/**
 * @param name for example `localhost/coredns:1`
 * @param program path of a static program; it becomes `/program`, the entry point of the image
 * @returns path of the archive
 */
export async function programImage(name: string, program: string): Promise<string> {
  const { size, mtimeMs } = statSync(program);
  const stamp = createHash('sha256')
    .update(JSON.stringify([recipe, name, size, mtimeMs]))
    .digest('hex')
    .slice(0, 12);
  const folder = join(imagesDirectory(), 'programs');
  const archive = join(folder, `${name.replace(/\W+/g, '-')}-${stamp}.tar`);
  if (existsSync(archive)) return archive;
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, 'make-'));
  try {
    await writeLayout(work, name, program);
    const whole = `${work}.tar`;
    await runCommand(['tar', '-cf', whole, '-C', work, 'blobs', 'index.json', 'oci-layout'], { timeoutMs: tarTimeoutMs });
    renameSync(whole, archive);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return archive;
}

/** The pause program, which holds the network of a pod. @returns its path */
export async function pauseProgram(): Promise<string> {
  const folder = join(imagesDirectory(), 'programs');
  const path = join(folder, `pause-${process.arch}`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const partial = `${path}.${process.pid}`;
  const source = '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n';
  await runCommand(['gcc', '-static', '-Os', '-s', '-x', 'c', '-o', partial, '-'], { input: source });
  renameSync(partial, path);
  return path;
}

async function writeLayout(folder: string, name: string, program: string): Promise<void> {
  const blobs = join(folder, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const layer = join(folder, 'layer.tar');
  const as = ['--transform=s,.*,program,', '--mode=0755', '--owner=0', '--group=0'];
  await runCommand(['tar', '-P', ...as, '-cf', layer, program], { timeoutMs: tarTimeoutMs });
  const hash = createHash('sha256');
  await pipeline(createReadStream(layer), hash);
  const layerDigest = hash.digest('hex');
  const { size } = statSync(layer);
  renameSync(layer, join(blobs, layerDigest));
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = blob(blobs, 'application/vnd.oci.image.config.v1+json', {
    architecture,
    os: 'linux',
    config: { Entrypoint: ['/program'], WorkingDir: '/' },
    rootfs: { type: 'layers', diff_ids: [`sha256:${layerDigest}`] },
  });
  const layers = [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: `sha256:${layerDigest}`, size }];
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = blob(blobs, mediaType, { schemaVersion: 2, mediaType, config, layers });
  const annotations = { 'io.containerd.image.name': name };
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
}

function blob(folder: string, mediaType: string, content: unknown): { mediaType: string; digest: string; size: number } {
  const bytes = Buffer.from(JSON.stringify(content));
  const digest = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(join(folder, digest), bytes);
  return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
}
