// Every variable of a node, with its path in files if it is reloadable.
import { type Setting, settingsOf } from '../core/setting.ts';
import { reloadableSettings } from './reloadable.ts';
import { staticSettings } from './static.ts';

/** `path`: its name in configuration files, if it is reloadable. */
export type Variable = Setting & { path?: string };

export const reloadableVariables: readonly (Setting & { path: string })[] = settingsOf(reloadableSettings).map(({ path, setting }) => ({
  ...setting,
  path: path.join('.'),
}));
export const variables: readonly Variable[] = [...staticSettings, ...reloadableVariables];
export const knownNames: ReadonlySet<string> = new Set(variables.map(({ env }) => env));

/** The default as in the environment; undefined if it is not fixed. */
export function defaultText({ default: value }: Setting): string | undefined {
  if (value === undefined) return undefined;
  return value === null ? 'none' : [value].flat().join(' ');
}
