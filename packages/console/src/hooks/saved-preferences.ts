// Saved preferences: name and devices, stored for the tab, and in the browser only with consent.
import { browserStorage, tabStorage } from './tab-storage.ts';

export type SavedPreferences = { name: string; camera?: string | undefined; microphone?: string | undefined; speaker?: string | undefined };

const key = 'mediarooms.choices';
const maxLength = 512;

/** `kept`: true if they are stored beyond the tab. */
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

/** Storage is untrusted. */
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
