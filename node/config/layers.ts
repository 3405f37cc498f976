// Layers of reloadable settings: defaults, files in order, environment; merged by name, validated, completed.
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { type ReloadableValues, reloadableSettings } from '../../api/settings/reloadable.ts';
import { reloadableVariables } from '../../api/settings/variables.ts';
import type { EnvReader } from '../env.ts';
import { type CrossFieldError, crossFieldErrors } from './cross-field-rules.ts';
import { configErrorMessage, readText } from './reader.ts';
import { type ApiToken, effectiveSettings, fileSchema, type ReloadableSettings } from './settings.ts';

/** Settings as in files. */
export type Tree = { readonly [name: string]: unknown };
/** Validated settings of one source and its errors. `paths`: the leaves that it sets; `refused`: invalid leaves. */
export type Layer = { raw: Tree; paths: readonly string[]; refused: readonly string[]; errors: readonly string[] };
type Path = readonly PropertyKey[];

const maxAliases = 50;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The layer of a YAML file. Errors contain its values only if they cannot be secrets. */
export function fileLayer(name: string, bytes: Uint8Array): Layer {
  const parsed = parseYaml(bytes);
  if ('error' in parsed) return rejectedLayer([`Expected ${name} to be YAML, got: ${parsed.error}`]);
  const raw = parsed.value ?? {};
  const result = fileSchema.safeParse(raw);
  if (result.success) return { raw: raw as Tree, paths: leafPaths(raw), refused: [], errors: [] };
  return rejectedLayer(result.error.issues.map((issue) => fileError(name, raw, issue)));
}

/** The layer of all reloadable variables that are set. */
export function envLayer(env: EnvReader): Layer {
  const set = reloadableVariables.flatMap((variable) => {
    const given = env.read(variable.env);
    return given ? [{ ...variable, given, value: readText(variable, given.text) }] : [];
  });
  const errors = new Map<string, string>();
  for (const issue of fileSchema.safeParse(treeOf(set)).error?.issues ?? []) {
    const variable = set.find(({ path }) => path === rootText(issue.path));
    if (variable && !errors.has(variable.path))
      errors.set(variable.path, configErrorMessage(variable.given.name, expectation(issue), variable.given.text, variable.secret));
  }
  const good = set.filter(({ path }) => !errors.has(path));
  return { raw: treeOf(good), paths: set.map(({ path }) => path), refused: [...errors.keys()], errors: [...errors.values()] };
}

/** The lowest layer. */
export function defaultLayer(derived: { apiTokens: ApiToken[] | undefined; avMaxCpu: number }): Tree {
  const fixed = treeOf(reloadableVariables.map((variable) => ({ path: variable.path, value: variable.default })));
  const groups = Object.entries(reloadableSettings).flatMap(([name, each]) => ('settings' in each ? [[name, {}] as const] : []));
  return { ...Object.fromEntries(groups), ...fixed, ...derived };
}

/** Merges the layers, as in files and parsed, or returns errors of the combination. */
export function mergeLayers(layers: readonly Tree[]): { raw: Tree; settings: ReloadableSettings } | { errors: readonly CrossFieldError[] } {
  const merged = layers.reduce<Tree>((below, above) => mergeTrees(below, above) as Tree, {});
  const raw = withDependentDefaults(merged, layers[0]?.apiTokens);
  const tree = fileSchema.parse(raw) as ReloadableValues;
  const errors = crossFieldErrors(tree);
  return errors.length > 0 ? { errors } : { raw, settings: effectiveSettings(tree) };
}

/** Adds defaults that depend on other settings. */
function withDependentDefaults(merged: Tree, developmentTokens: unknown): Tree {
  const corsOrigins = developmentTokens !== undefined && merged.apiTokens === developmentTokens ? [] : ['*'];
  return mergeTrees({ corsOrigins, webhooks: { allowPrivate: merged.allowPrivateAddresses } }, merged) as Tree;
}

/** The layer of a rejected source. */
export function rejectedLayer(errors: readonly string[]): Layer {
  return { raw: {}, paths: [], refused: [], errors: [...new Set(errors)] };
}

/** Messages of the parser quote the text, which may be a secret. Only position and code are reported. */
function parseYaml(bytes: Uint8Array): { value: unknown } | { error: string } {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const lines = new LineCounter();
    const document = parseDocument(text, { prettyErrors: false, lineCounter: lines });
    const fault = document.errors[0] ?? document.warnings[0];
    if (!fault) return { value: document.toJS({ maxAliasCount: maxAliases }) };
    const { line, col } = lines.linePos(fault.pos[0]);
    return { error: `${fault.code} at line ${line}, column ${col}` };
  } catch (error) {
    return { error: error instanceof TypeError ? 'bytes that are not UTF-8' : 'too deep nesting or too many aliases' };
  }
}

function fileError(name: string, raw: unknown, issue: z.core.$ZodIssue): string {
  const path = pathText(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => (path === '' ? key : `${path}.${key}`));
    return configErrorMessage(name, 'to have only known names', keys.join(', '));
  }
  const got = valueAt(raw, issue.path);
  const variable = reloadableVariables.find((each) => each.path === rootText(issue.path));
  const shown = variable !== undefined && !variable.secret && (typeof got !== 'object' || got === null);
  return configErrorMessage(path === '' ? name : `${path} in ${name}`, expectation(issue), shown ? showScalar(got) : kindOf(got));
}

function expectation(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_type' && issue.expected === 'object' ? 'to be a mapping of names to values' : issue.message;
}

function showScalar(value: unknown): string {
  return value === undefined ? 'nothing' : String(value);
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a mapping' : `a ${typeof value} that is not shown here`;
}

function pathText(path: Path): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

/** The path without indexes and names inside a list. */
function rootText(path: Path): string {
  return pathText(path).replace(/\[.*/, '');
}

/** The value at a path of names, or names and indexes. */
export function valueAt(raw: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined), raw);
}

function treeOf(values: readonly { path: string; value: unknown }[]): Tree {
  const branch = ({ path, value }: { path: string; value: unknown }) =>
    path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return values.reduce<Tree>((tree, each) => (each.value === undefined ? tree : (mergeTrees(tree, branch(each)) as Tree)), {});
}

function mergeTrees(below: unknown, above: unknown): unknown {
  if (above === undefined) return below;
  if (!isTree(below) || !isTree(above)) return above;
  const names = [...new Set([...Object.keys(below), ...Object.keys(above)])];
  return Object.fromEntries(names.map((name) => [name, mergeTrees(below[name], above[name])]));
}

function leafPaths(value: unknown, path = ''): string[] {
  if (!isTree(value)) return [path];
  return Object.entries(value).flatMap(([name, inner]) => leafPaths(inner, path === '' ? name : `${path}.${name}`));
}
