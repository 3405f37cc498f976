// Reloadable configuration: settings from watched files that may change at runtime. The environment has precedence over them.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ConfigSource } from '../../api/node.ts';
import type { Variable } from '../../api/settings/variables.ts';
import type { EnvReader } from '../env.ts';
import type { CrossFieldError } from './cross-field-rules.ts';
import { defaultLayer, envLayer, fileLayer, type Layer, mergeLayers, rejectedLayer, type Tree, valueAt } from './layers.ts';
import { FileTooLargeError, readFileLimited } from './read-file.ts';
import { readText } from './reader.ts';
import type { ApiToken, ReloadableSettings } from './settings.ts';
import { FileWatcher, type WatchIntervals } from './watch.ts';

/** Maximum size of a configuration file in bytes. */
const maxFileBytes = 1024 * 1024;

/** The part of ReloadableConfig for code that only reads settings. */
export interface ReloadableConfigView {
  /** The effective settings, frozen. */
  readonly current: ReloadableSettings;
  /** Calls the listener after each change with the effective settings. Returns a function that unsubscribes. */
  onChange(listener: (settings: ReloadableSettings) => void): () => void;
  /** SHA-256 (hex) of the effective content of each file. */
  files(): readonly { name: string; sha256: string }[];
  /** Names in files that the environment overrides, for example `limits.maxRooms`. */
  readonly shadowed: readonly string[];
  /** Why a file was rejected, while the last valid state stays in effect. */
  readonly error: string | null;
}

export type ReloadableSources = {
  files: readonly string[];
  env: EnvReader;
  /** Defaults that depend on the rest of the configuration. Without tokens here, another source must have some. */
  derived: { apiTokens: ApiToken[] | undefined; avMaxCpu: number };
};
/** Observer of reloads, for example for logs: the error, or null once the configuration is valid again. */
export type ReloadObserver = { reloaded: () => void; refused: (error: string) => void };

type ReadFile = { name: string; sha256: string; layer: Layer };
/** `raw`: the settings of all layers as in files. */
type State = { raw: Tree; settings: ReloadableSettings; files: readonly ReadFile[]; shadowed: readonly string[] };

/** Reads all sources once. Errors are those of the environment, of each file and of the combination. */
export async function loadReloadableConfig(sources: ReloadableSources): Promise<{ hot: ReloadableConfig } | { errors: string[] }> {
  const env = envLayer(sources.env);
  const below = defaultLayer(sources.derived);
  const files = await Promise.all(sources.files.map(readLayer));
  const state = combine(below, files, env);
  const single = [...env.errors, ...files.flatMap(({ layer }) => layer.errors)];
  // Settings of a rejected source are unknown, so the combination is not checked.
  const filesGood = files.every(({ layer }) => layer.errors.length === 0);
  const certain = ({ path }: CrossFieldError) => filesGood && !env.refused.some((each) => each.startsWith(path));
  const errors = 'errors' in state ? [...single, ...state.errors.filter(certain).map(({ message }) => message)] : single;
  return errors.length > 0 || 'errors' in state ? { errors } : { hot: new ReloadableConfig({ below, env, variables: sources.env }, state) };
}

export class ReloadableConfig implements ReloadableConfigView {
  readonly #below: Tree;
  readonly #env: Layer;
  readonly #variables: EnvReader;
  readonly #listeners = new Set<(settings: ReloadableSettings) => void>();
  #state: State;
  #error: string | null = null;
  #watcher: FileWatcher | undefined;
  #observer: ReloadObserver | undefined;

  /** Created by loadReloadableConfig(). */
  constructor({ below, env, variables }: { below: Tree; env: Layer; variables: EnvReader }, state: State) {
    this.#below = below;
    this.#env = env;
    this.#variables = variables;
    this.#state = state;
  }

  get current(): ReloadableSettings {
    return this.#state.settings;
  }

  /** The API token that was generated for this start; undefined as soon as one was configured. */
  get developmentToken(): string | undefined {
    return this.#state.raw.apiTokens === this.#below.apiTokens ? this.current.apiTokens[0]?.token : undefined;
  }

  get shadowed(): readonly string[] {
    return this.#state.shadowed;
  }

  get error(): string | null {
    return this.#error;
  }

  files(): readonly { name: string; sha256: string }[] {
    return this.#state.files.map(({ name, sha256 }) => ({ name, sha256 }));
  }

  /** A variable as in files, undefined if no source has it, and its source. */
  given(variable: Variable): { value: unknown; source: ConfigSource } {
    const { env, path } = variable;
    const entry = this.#variables.read(env);
    const inFile = path !== undefined && this.#state.files.some(({ layer }) => layer.paths.includes(path));
    const value = path === undefined ? entry && readText(variable, entry.text) : valueAt(this.#state.raw, path.split('.'));
    return { value, source: entry ? 'environment' : inFile ? 'file' : 'default' };
  }

  onChange(listener: (settings: ReloadableSettings) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Watches the files until close(). Without files it does nothing. */
  watch(observer?: ReloadObserver, times?: WatchIntervals): void {
    if (this.#watcher || this.#state.files.length === 0) return;
    this.#observer = observer;
    this.#watcher = new FileWatcher(
      this.#state.files.map(({ name }) => name),
      () => this.reload(),
      times,
    );
    // Finds changes since the first read.
    this.#watcher.check();
  }

  /** Reloads the files now; resolves after listeners were called. An invalid file is no failure: see `error`. */
  async reload(): Promise<void> {
    const before = this.#state.files;
    const read = await Promise.all(before.map(({ name }) => readLayer(name)));
    const errors = read.flatMap(({ layer }) => layer.errors);
    const files = read.map((file, index) => (file.layer.errors.length > 0 ? (before[index] ?? file) : file));
    const state = combine(this.#below, files, this.#env);
    if ('errors' in state) this.#refuse([...errors, ...state.errors.map(({ message }) => message)]);
    else this.#take(state, errors);
  }

  /** Stops watching. Idempotent; the settings stay readable. */
  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#watcher?.close();
  }

  #take(state: State, errors: readonly string[]): void {
    const before = this.#state;
    this.#state = state;
    const touched = state.files.some((file, index) => file.sha256 !== before.files[index]?.sha256);
    const recovered = this.#error !== null && errors.length === 0;
    this.#refuse(errors);
    if (touched || recovered) this.#observer?.reloaded();
    if (!isDeepStrictEqual(before.settings, state.settings)) for (const listener of this.#listeners) listener(state.settings);
  }

  #refuse(errors: readonly string[]): void {
    const error = errors.length === 0 ? null : errors.join('; ');
    const isNew = error !== this.#error;
    this.#error = error;
    if (error !== null && isNew) this.#observer?.refused(error);
  }
}

function combine(below: Tree, files: readonly ReadFile[], env: Layer): State | { errors: readonly CrossFieldError[] } {
  const settled = mergeLayers([below, ...files.map(({ layer }) => layer.raw), env.raw]);
  if ('errors' in settled) return settled;
  const inFiles = new Set(files.flatMap(({ layer }) => layer.paths));
  return { ...settled, files, shadowed: Object.freeze(env.paths.filter((path) => inFiles.has(path))) };
}

async function readLayer(name: string): Promise<ReadFile> {
  try {
    const bytes = await readFileLimited(name, maxFileBytes);
    return { name, sha256: createHash('sha256').update(bytes).digest('hex'), layer: fileLayer(name, bytes) };
  } catch (error) {
    const got = error instanceof FileTooLargeError ? error.message : errorCode(error);
    return { name, sha256: '', layer: rejectedLayer([`Expected ${name} to be a readable file of at most 1 MiB, got: ${got}`]) };
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'something else';
}
