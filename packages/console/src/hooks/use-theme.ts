// useTheme: light, dark or system theme, stored for the tab only.
import { useEffect, useState } from 'react';
import { tabStorage } from './tab-storage.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'mediarooms.theme';

const storedTheme = (): Theme => themes.find((theme) => theme === tabStorage.get(key)) ?? 'system';

/** Runs before the first paint, against a flash of the wrong colors. */
export function applyStoredTheme(): void {
  apply(storedTheme());
}

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => {
    apply(theme);
    if (theme === 'system') tabStorage.remove(key);
    else tabStorage.set(key, theme);
  }, [theme]);
  return [theme, setTheme];
}
