// Page hide: notifies when the page is closed; nothing happens outside of browsers.

export function pageHide(method: 'addEventListener' | 'removeEventListener', listener: (event: { persisted?: boolean }) => void): void {
  if (typeof window === 'object') window[method]?.('pagehide', listener as EventListener);
}
