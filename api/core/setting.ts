// Constructor of settings: one variable of a node. Reloadable settings form a tree that mirrors the YAML file, so that no path is written.
import type { z } from 'zod';

export type SettingFacts<Input = unknown> = {
  /** As in files. */
  default?: Input;
  /** The default in words, if it is not fixed, or if null needs some. */
  derived?: string;
  /** Value in the image, as in the environment. */
  image?: string;
  /** Never shown, not even in errors. */
  secret?: true;
  /** Never in a MediaCluster: the operator reads it from a Secret. */
  fromSecret?: true;
  /** Its description in a MediaCluster, if the derived one does not fit; `required`: within its group. */
  cluster?: { doc?: string; required?: true };
  /** Reads the text of the variable, if its schema does not tell how. */
  fromEnv?: (text: string) => unknown;
};

/** `env`: the variable without prefix. `doc`: one sentence for the table of variables. */
export type Setting<Env extends string = string, Schema extends z.ZodType = z.ZodType, Facts = SettingFacts> = {
  env: Env;
  schema: Schema;
  doc: string;
} & Facts;
/** Settings under a common name in files. */
export type SettingGroup<Settings extends SettingTree = SettingTree> = { doc: string; settings: Settings };
export type SettingTree = { readonly [name: string]: Setting | { doc: string; settings: SettingTree } };

export function setting<const Env extends string, Schema extends z.ZodType, const Facts extends SettingFacts<z.input<Schema>>>(
  env: Env,
  schema: Schema,
  doc: string,
  ...[facts]: [facts?: Facts]
): Setting<Env, Schema, Facts> {
  return { env, schema, doc, ...(facts as Facts) };
}

export function group<Settings extends SettingTree>(doc: string, settings: Settings): SettingGroup<Settings> {
  return { doc, settings };
}

/** The effective value; undefined if it is not set and has no default. */
export type SettingValue<S> =
  S extends Setting<string, infer Schema, unknown> ? z.output<Schema> | (S extends { default: unknown } ? never : undefined) : never;
/** The effective values of a tree. */
export type SettingValues<Tree> = {
  readonly [Name in keyof Tree]: Tree[Name] extends { settings: infer Settings } ? SettingValues<Settings> : SettingValue<Tree[Name]>;
};

/** Every setting of a tree with its path in files, in order. */
export function settingsOf(tree: SettingTree, path: readonly string[] = []): { path: readonly string[]; setting: Setting }[] {
  return Object.entries(tree).flatMap(([name, each]) =>
    'settings' in each ? settingsOf(each.settings, [...path, name]) : [{ path: [...path, name], setting: each }],
  );
}
