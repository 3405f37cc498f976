// Theme button: cycles through system, light and dark.
import { type Theme, themes, useTheme } from '../hooks/use-theme.ts';
import { DarkThemeIcon, LightThemeIcon, SystemThemeIcon } from './icons.tsx';

const icons: Record<Theme, () => React.JSX.Element> = { system: SystemThemeIcon, light: LightThemeIcon, dark: DarkThemeIcon };
const names: Record<Theme, string> = { system: 'system', light: 'light', dark: 'dark' };

export function ThemeButton() {
  const [theme, setTheme] = useTheme();
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
  const Icon = icons[theme];
  const label = `Theme: ${names[theme]}. Change to ${names[next]}`;
  return (
    <button
      type="button"
      className="button icon-only"
      data-testid="theme"
      data-theme-now={theme}
      aria-label={label}
      title={label}
      onClick={() => setTheme(next)}
    >
      <Icon />
    </button>
  );
}
