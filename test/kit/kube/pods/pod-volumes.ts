// Volumes of a pod as folders, filled and refreshed like a kubelet does: new content appears by swapping one symlink.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { V1DownwardAPIVolumeFile, V1KeyToPath, V1VolumeProjection } from '@kubernetes/client-node';
import type { Container, Json, Volume } from '../../../../operator/kube/kinds.ts';
import { ContainerConfigError, fieldOf, type PodData, type PodPlace, resourceOf } from './pod-env.ts';
import type { Pod } from './pod-spec.ts';

/** Files of a volume: path -> content. */
export type VolumeFiles = Map<string, Buffer>;
/** Tokens for projected volumes, by path. */
export type Tokens = ReadonlyMap<string, string>;

/** Content of a volume; undefined for a plain folder. @throws ContainerConfigError */
function volumeFiles(volume: Volume, pod: Pod, place: PodPlace, data: PodData, tokens: Tokens): VolumeFiles | undefined {
  const { configMap, secret, downwardAPI, projected } = volume;
  const sources: Json<V1VolumeProjection>[] | undefined = projected
    ? (projected.sources ?? [])
    : configMap
      ? [{ configMap }]
      : secret
        ? [{ secret: { name: secret.secretName, optional: secret.optional, items: secret.items } }]
        : downwardAPI && [{ downwardAPI }];
  if (sources === undefined) return undefined;
  const files: VolumeFiles = new Map();
  for (const source of sources) {
    if (source.configMap) addKeys(files, 'configmap', source.configMap, data.configMaps);
    if (source.secret) addKeys(files, 'secret', source.secret, data.secrets);
    for (const item of source.downwardAPI?.items ?? []) files.set(item.path, Buffer.from(downwardText(item, pod, place)));
    if (source.serviceAccountToken)
      files.set(source.serviceAccountToken.path, Buffer.from(tokens.get(source.serviceAccountToken.path) ?? ''));
  }
  return files;
}

function downwardText({ fieldRef, resourceFieldRef }: Json<V1DownwardAPIVolumeFile>, pod: Pod, place: PodPlace): string {
  if (fieldRef) return fieldOf(pod, fieldRef.fieldPath, place);
  const [container] = pod.spec.containers;
  return container && resourceFieldRef ? resourceOf(container, resourceFieldRef) : '';
}

function addKeys(
  files: VolumeFiles,
  kind: string,
  { name = '', optional, items }: { name?: string; optional?: boolean; items?: Json<V1KeyToPath>[] },
  objects: ReadonlyMap<string, Readonly<Record<string, Buffer>>>,
): void {
  const found = objects.get(name);
  if (found === undefined && !optional) throw new ContainerConfigError(`${kind} "${name}" not found`);
  for (const { key, path } of items ?? Object.keys(found ?? {}).map((each) => ({ key: each, path: each }))) {
    const value = found?.[key];
    if (value !== undefined) files.set(path, value);
    else if (found !== undefined && !optional) throw new ContainerConfigError(`${kind} "${name}" has no key ${key}`);
  }
}

/** Folders of the image that a node writes to if no volume is mounted. */
const imagePaths = ['/tmp', '/var/lib/mediarooms'];

/** Volumes of a pod in one folder. */
export class PodVolumes {
  readonly #folder: string;
  /** Folder of a PersistentVolumeClaim, which outlives the pod. */
  readonly #claim: (name: string) => string;
  readonly #written = new Map<string, string>();

  constructor(folder: string, claim: (name: string) => string) {
    this.#folder = folder;
    this.#claim = claim;
  }

  /** Writes the current content of all volumes. @returns whether a file changed. @throws ContainerConfigError */
  write(pod: Pod, place: PodPlace, data: PodData, tokens: Tokens): boolean {
    let changed = false;
    for (const volume of pod.spec.volumes ?? []) {
      const files = volumeFiles(volume, pod, place, data, tokens);
      const folder = this.folderOf(volume, pod);
      mkdirSync(folder, { recursive: true });
      if (files !== undefined) changed = this.#swap(folder, files) || changed;
    }
    return changed;
  }

  /** A volume mounted inside another one is stored inside it, because the process must see it there. */
  folderOf(volume: Volume, pod: Pod): string {
    const mounts = pod.spec.containers.flatMap((container) => container.volumeMounts ?? []);
    const own = mounts.find((mount) => mount.name === volume.name && mount.subPath === undefined)?.mountPath;
    const around = mounts.find(({ name, mountPath }) => name !== volume.name && own?.startsWith(`${mountPath}/`));
    const outer = pod.spec.volumes?.find(({ name }) => name === around?.name);
    return own && around && outer ? join(this.folderOf(outer, pod), own.slice(around.mountPath.length)) : this.#ownFolder(volume);
  }

  #ownFolder({ name, persistentVolumeClaim }: Volume): string {
    return persistentVolumeClaim ? this.#claim(persistentVolumeClaim.claimName) : join(this.#folder, 'volumes', name);
  }

  /** Paths of the volumes of a container on this machine. */
  paths(pod: Pod, container: Container): PathMap {
    const mounts = (container.volumeMounts ?? []).map((mount, index) => {
      const volume = pod.spec.volumes?.find(({ name }) => name === mount.name);
      const folder = volume ? this.folderOf(volume, pod) : join(this.#folder, 'volumes', mount.name);
      return [mount.mountPath, mount.subPath === undefined ? folder : this.#subPath(join(folder, mount.subPath), index)] as const;
    });
    const writable = imagePaths.map((path) => {
      const folder = join(this.#folder, 'image', path);
      mkdirSync(folder, { recursive: true });
      return [path, folder] as const;
    });
    return new PathMap([...writable, ...mounts]);
  }

  /** Content mounted by subPath is never refreshed. */
  #subPath(source: string, index: number): string {
    if (!existsSync(join(dirname(source), '..data'))) {
      mkdirSync(source, { recursive: true });
      return source;
    }
    const copy = join(this.#folder, 'sub-paths', String(index));
    cpSync(source, copy, { recursive: true, dereference: true, force: true });
    return copy;
  }

  #swap(folder: string, files: VolumeFiles): boolean {
    const content = JSON.stringify([...files].map(([path, bytes]) => [path, bytes.toString('base64')]));
    if (this.#written.get(folder) === content) return false;
    this.#written.set(folder, content);
    swapContent(folder, files);
    return true;
  }
}

/** Replaces the content of the folder atomically: files are symlinks into `..data`, itself a symlink to the folder of one version. */
export function swapContent(folder: string, files: VolumeFiles): void {
  const version = mkdtempSync(join(folder, `..${new Date().toISOString().replace(/\D/g, '_')}.`));
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(version, path)), { recursive: true });
    writeFileSync(join(version, path), bytes);
  }
  const next = join(folder, '..data_tmp');
  rmSync(next, { force: true });
  symlinkSync(basename(version), next);
  renameSync(next, join(folder, '..data'));
  const wanted = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path));
  for (const name of wanted) if (!isThere(folder, name)) symlinkSync(join('..data', name), join(folder, name));
  for (const name of readdirSync(folder)) {
    const old = name.startsWith('..') ? name !== '..data' && name !== basename(version) : !wanted.has(name);
    if (old) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** True for a dangling symlink too. */
function isThere(folder: string, name: string): boolean {
  return readdirSync(folder).includes(name);
}

/** Maps paths of a container to this machine: the process is in no container, so texts with such paths are rewritten. */
export class PathMap {
  readonly #folders: ReadonlyMap<string, string>;
  readonly #pattern: RegExp;

  constructor(mounts: readonly (readonly [string, string])[]) {
    this.#folders = new Map(mounts);
    const deepestFirst = [...this.#folders.keys()].sort((one, other) => other.length - one.length);
    const paths = deepestFirst.map((path) => path.replace(/[^\w/-]/g, '\\$&')).join('|');
    // In one pass, because a folder of this machine may begin with a path of the container.
    this.#pattern = new RegExp(`(^|[\\s:=,;"'])(${paths || '(?!)'})(?=$|[/\\s:,;"'])`, 'g');
  }

  rewrite(text: string): string {
    return text.replace(this.#pattern, (_, before: string, path: string) => `${before}${this.#folders.get(path)}`);
  }
}
