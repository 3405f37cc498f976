// Tab and browser storage that never throws: browsers may deny access, then nothing is stored.
const careful = (storage: () => Storage) => ({
  get(key: string): string | undefined {
    try {
      return storage().getItem(key) ?? undefined;
    } catch {
      return undefined;
    }
  },
  set(key: string, value: string): void {
    try {
      storage().setItem(key, value);
    } catch {
      // The caller has the value in memory.
    }
  },
  remove(key: string): void {
    try {
      storage().removeItem(key);
    } catch {
      // Nothing was stored.
    }
  },
});

export const tabStorage = careful(() => sessionStorage);
/** Only with the consent of the user. */
export const browserStorage = careful(() => localStorage);

const tabKey = 'mediarooms.tab';

/** Id of this tab, so that rejoining a room after a reload uses the same peer. */
export function tabId(): string {
  const known = tabStorage.get(tabKey);
  if (known) return known;
  // Not randomUUID(), which exists in secure contexts only.
  const made = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  tabStorage.set(tabKey, made);
  return made;
}
