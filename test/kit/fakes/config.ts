// Configurations for tests: the real reader on an environment of the test, and settings that a test changes at runtime.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLayer, mergeLayers } from '../../../node/config/layers.ts';
import type { ReloadableConfigView } from '../../../node/config/reloadable-config.ts';
import type { ReloadableSettings } from '../../../node/config/settings.ts';
import { type ConfigSystem, localSystem } from '../../../node/config/system.ts';
import { type LoadedConfig, loadConfig } from '../../../node/config.ts';
import type { Environment } from '../../../node/env.ts';

/** A system environment with constant results. */
export function testSystem(overrides: Partial<ConfigSystem> = {}): ConfigSystem {
  return {
    ...localSystem(),
    hostname: () => 'test-host',
    localAddresses: () => ['127.0.0.1', '192.0.2.10'],
    defaultRouteAddress: async () => '192.0.2.10',
    cores: async () => 2,
    resolve: async (name) => {
      if (name === 'known.example') return ['2001:db8::7', '192.0.2.7'];
      throw new Error('ENOTFOUND');
    },
    gitCommit: async () => '0123456789ab',
    makeWritable: async () => undefined,
    unreadable: async () => undefined,
    ...overrides,
  };
}

/** A complete configuration for a node on loopback with free ports and a temporary resources directory, which cleanUp() removes. */
export async function testConfig(
  env: Environment = {},
  system: Partial<ConfigSystem> = {},
): Promise<LoadedConfig & { cleanUp: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'mediarooms-test-'));
  const cleanUp = () => rm(folder, { recursive: true, force: true });
  try {
    const defaults = { SVC_PORT: '0', SVC_METRICS_PORT: '0', SVC_RESOURCES_BASE_PATH: folder, SVC_WEBRTC_WORKERS: '1' };
    const loaded = await loadConfig({ ...defaults, ...env }, testSystem({ makeWritable: localSystem().makeWritable, ...system }));
    return {
      ...loaded,
      cleanUp: async () => {
        await loaded.hot.close();
        await cleanUp();
      },
    };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** Settings without files: the defaults with changes, and further changes while the test runs. */
export class TestHot implements ReloadableConfigView {
  readonly shadowed: readonly string[] = [];
  readonly #listeners = new Set<(settings: ReloadableSettings) => void>();
  error: string | null = null;
  current: ReloadableSettings;

  constructor(changes: Partial<ReloadableSettings> = {}) {
    const apiTokens = [{ name: 'development', token: 'development', scope: 'admin' as const }];
    const settled = mergeLayers([defaultLayer({ apiTokens, avMaxCpu: 1.5 })]);
    if ('errors' in settled) throw new Error(settled.errors.map(({ message }) => message).join('; '));
    this.current = { ...settled.settings, ...changes };
  }

  onChange(listener: (settings: ReloadableSettings) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  files(): readonly { name: string; sha256: string }[] {
    return [];
  }

  /** Applies changes and notifies the listeners. */
  change(changes: Partial<ReloadableSettings>): void {
    this.current = { ...this.current, ...changes };
    for (const listener of this.#listeners) listener(this.current);
  }
}
