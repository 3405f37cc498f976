// What a tab keeps until it is closed, and what a browser keeps where somebody asked for it. Browsers may forbid storage: then nothing is kept, and
// nothing breaks.
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
      // Kept in memory by whoever asked.
    }
  },
  remove(key: string): void {
    try {
      storage().removeItem(key);
    } catch {
      // Nothing was kept.
    }
  },
});

export const tabStorage = careful(() => sessionStorage);
/** Only for what somebody asked to be kept. */
export const browserStorage = careful(() => localStorage);

const tabKey = 'mediarooms.tab';

/** Names this tab, so that joining a room again after a reload takes the same peer. */
export function tabId(): string {
  const known = tabStorage.get(tabKey);
  if (known) return known;
  // Not randomUUID: that exists in secure contexts only.
  const made = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  tabStorage.set(tabKey, made);
  return made;
}
