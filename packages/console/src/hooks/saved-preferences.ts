// Name and devices: kept by the tab as long as it lives, and by the browser only where somebody asked for that.
import { browserStorage, tabStorage } from './tab-storage.ts';

export type SavedPreferences = { name: string; camera?: string | undefined; microphone?: string | undefined; speaker?: string | undefined };

const key = 'mediarooms.choices';
const maxLength = 512;

/** `kept`: the browser keeps them beyond the tab. */
export function readPreferences(): { choices: SavedPreferences; kept: boolean } {
  const stored = browserStorage.get(key);
  return { choices: parse(stored ?? tabStorage.get(key)), kept: stored !== undefined };
}

export function writePreferences(savedPreferences: SavedPreferences, keep: boolean): void {
  const text = JSON.stringify(savedPreferences);
  tabStorage.set(key, text);
  if (keep) browserStorage.set(key, text);
  else browserStorage.remove(key);
}

/** Anybody may have written there. */
function parse(text: string | undefined): SavedPreferences {
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? '{}');
  } catch {
    stored = {};
  }
  const fields = typeof stored === 'object' && stored !== null ? (stored as Record<string, unknown>) : {};
  const word = (name: string) => {
    const value = fields[name];
    return typeof value === 'string' && value !== '' && value.length <= maxLength ? value : undefined;
  };
  return { name: word('name') ?? '', camera: word('camera'), microphone: word('microphone'), speaker: word('speaker') };
}
