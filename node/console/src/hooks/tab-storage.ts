// What a tab keeps until it is closed. Browsers may forbid storage: then nothing is kept, and nothing breaks.
export const tabStorage = {
  get(key: string): string | undefined {
    try {
      return sessionStorage.getItem(key) ?? undefined;
    } catch {
      return undefined;
    }
  },
  set(key: string, value: string): void {
    try {
      sessionStorage.setItem(key, value);
    } catch {
      // Kept in memory by whoever asked.
    }
  },
  remove(key: string): void {
    try {
      sessionStorage.removeItem(key);
    } catch {
      // Nothing was kept.
    }
  },
};

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
