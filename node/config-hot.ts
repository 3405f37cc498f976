// The part of the configuration that can change while the node runs.
import type { HotSettings } from './config-settings.ts';

/** What those who only use the settings need of HotConfig. */
export interface HotView {
  /** The settings in force, frozen. */
  readonly current: HotSettings;
  /** Called after each change with the settings now in force; ends with the returned function. */
  onChange(listener: (settings: HotSettings) => void): () => void;
  /** SHA-256 (hex) of the bytes in force of each file. */
  files(): readonly { name: string; sha256: string }[];
  /** Names in files that the environment wins over, e.g. `limits.maxRooms`. */
  readonly shadowed: readonly string[];
  /** Why a file was refused, while the last good state stays in force. */
  readonly error: string | null;
}
