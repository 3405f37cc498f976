// Layers of reloadable settings: defaults, files in order, environment; merged by name, validated, completed.
import { isDeepStrictEqual } from 'node:util';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { EnvReader } from '../env.ts';
import { configErrorMessage, parseText } from './reader.ts';
import { type ApiToken, type FileSettings, fileSchema, type ReloadableSettings } from './settings.ts';
import { type ReloadableVariable, reloadableRows } from './variables.ts';

/** Validated settings of one source and its errors. `paths`: the leaves that it sets; `refused`: invalid leaves. */
export type Layer = { settings: FileSettings; paths: readonly string[]; refused: readonly string[]; errors: readonly string[] };
/** An error of all layers together, at a name or all names below it. */
export type CrossFieldError = { path: string; sentence: string };
type Tree = { [name: string]: unknown };
type Path = readonly PropertyKey[];

const maxAliases = 50;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The layer of a YAML file. Errors contain its values only if they cannot be secrets. */
export function fileLayer(name: string, bytes: Uint8Array): Layer {
  const parsed = parseYaml(bytes);
  if ('error' in parsed) return rejectedLayer([`Expected ${name} to be YAML, got: ${parsed.error}`]);
  const raw = parsed.value ?? {};
  const result = fileSchema.safeParse(raw);
  if (result.success) return { settings: result.data, paths: leafPaths(raw), refused: [], errors: [] };
  return rejectedLayer(result.error.issues.map((issue) => fileError(name, raw, issue)));
}

/** The layer of all reloadable variables that are set. */
export function envLayer(env: EnvReader): Layer {
  const set = reloadableRows.flatMap((row) => {
    const given = env.read(row.name);
    return given ? [{ ...row, given }] : [];
  });
  const errors = new Map<string, string>();
  for (const issue of fileSchema.safeParse(envTree(set)).error?.issues ?? []) {
    const row = set.find(({ path }) => path === rootText(issue.path));
    if (row && !errors.has(row.path))
      errors.set(row.path, configErrorMessage(row.given.name, expectation(issue), row.given.text, row.secret));
  }
  const good = set.filter(({ path }) => !errors.has(path));
  const paths = set.map(({ path }) => path);
  return { settings: fileSchema.parse(envTree(good)), paths, refused: [...errors.keys()], errors: [...errors.values()] };
}

function envTree(rows: readonly (ReloadableVariable & { given: { text: string } })[]): Tree {
  const tree: Tree = {};
  for (const row of rows) setAt(tree, row.path, envValue(row, row.given.text));
  return tree;
}

/** The lowest layer. */
export function defaultLayer(derived: { apiTokens: ApiToken[] | undefined; avMaxCpu: number }): FileSettings {
  const raw: Tree = { avMaxCpu: derived.avMaxCpu };
  for (const row of reloadableRows) if (row.default !== undefined) setAt(raw, row.path, envValue(row, row.default));
  if (derived.apiTokens) raw.apiTokens = derived.apiTokens;
  return fileSchema.parse(raw);
}

/** Merges the layers, or returns errors of the combination. */
export function mergeLayers(layers: readonly FileSettings[]): { settings: ReloadableSettings } | { errors: CrossFieldError[] } {
  const merged = layers.reduce<FileSettings>((below, above) => mergeTrees(below, above) as FileSettings, {});
  const { s3 = {}, webhooks = {}, limits = {}, timeouts = {}, roomDefaults = {} } = merged;
  const errors: CrossFieldError[] = [];
  if (!merged.apiTokens) {
    const sentence =
      'Expected SVC_SERVER_API_TOKEN (or apiTokens in a file of SVC_CONFIG_FILES) to be set if SVC_IP or SVC_HOST is not loopback, got: nothing';
    errors.push({ path: 'apiTokens', sentence });
  }
  const { apiTokens = [], apiReadTokens = [] } = merged;
  if (apiReadTokens.some(({ token }) => apiTokens.some((other) => other.token === token && other.scope === 'admin'))) {
    const sentence =
      'Expected SVC_SERVER_API_READ_TOKEN (apiReadTokens in files) to have no admin token, got: one of SVC_SERVER_API_TOKEN (apiTokens)';
    errors.push({ path: 'apiReadTokens', sentence });
  }
  const { bucket, accessKeyId, secretAccessKey } = s3;
  const given = Object.entries({ bucket, accessKeyId, secretAccessKey }).flatMap(([name, value]) =>
    value === undefined ? [] : [`s3.${name}`],
  );
  if (given.length === 1 || given.length === 2) {
    const variables = 'SVC_S3_BUCKET, SVC_S3_ACCESS_KEY_ID and SVC_S3_SECRET_ACCESS_KEY';
    errors.push({ path: 's3', sentence: `Expected ${variables} (s3.* in files) to be set all or none, got only: ${given.join(', ')}` });
  }
  if (errors.length > 0) return { errors };
  return {
    settings: deepFreeze({
      apiTokens: [...apiTokens, ...apiReadTokens],
      secretKeys: merged.secretKeys ?? [],
      componentsUsed: [...new Set(merged.componentsUsed ?? [])],
      logLevel: need(merged.logLevel),
      corsOrigins: merged.corsOrigins ?? (apiTokens === layers[0]?.apiTokens ? [] : ['*']),
      iceServers: merged.iceServers ?? [],
      allowPrivateAddresses: need(merged.allowPrivateAddresses),
      webhooks: {
        urls: [...new Set(webhooks.urls ?? [])],
        secrets: [...new Set(webhooks.secret ?? [])],
        maxAge: need(webhooks.maxAge),
        allowPrivate: webhooks.allowPrivate ?? need(merged.allowPrivateAddresses),
      },
      limits: {
        maxRooms: limits.maxRooms ?? null,
        maxPeersPerRoom: need(limits.maxPeersPerRoom),
        maxTracksPerPeer: need(limits.maxTracksPerPeer),
        rateLimitApi: limits.rateLimitApi ?? null,
        rateLimitSocket: limits.rateLimitSocket ?? null,
        pendingMaxBytes: need(limits.pendingMaxBytes),
        dataMessageMaxBytes: need(limits.dataMessageMaxBytes),
      },
      timeouts: { peerResumeWindow: need(timeouts.peerResumeWindow), rawRecordingTtl: timeouts.rawRecordingTtl ?? null },
      roomDefaults: {
        peerDisconnectedTimeout: roomDefaults.peerDisconnectedTimeout || null,
        peerlessPurgeTimeout: roomDefaults.peerlessPurgeTimeout || null,
      },
      s3:
        bucket !== undefined && accessKeyId !== undefined && secretAccessKey !== undefined
          ? {
              bucket,
              accessKeyId,
              secretAccessKey,
              region: s3.region ?? null,
              endpoint: s3.endpoint ?? null,
              pathPrefix: s3.pathPrefix ?? null,
            }
          : null,
      webrtc: { maxIncomingBitrate: merged.webrtc?.maxIncomingBitrate ?? null },
      avMaxCpu: need(merged.avMaxCpu),
    }),
  };
}

/** True if a reload changed nothing. */
export function sameSettings(one: ReloadableSettings, other: ReloadableSettings): boolean {
  return isDeepStrictEqual(one, other);
}

/** Freezes a value recursively. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a setting without a default');
  return value;
}

/** The layer of a rejected source. */
export function rejectedLayer(errors: readonly string[]): Layer {
  return { settings: {}, paths: [], refused: [], errors: [...new Set(errors)] };
}

function envValue(row: ReloadableVariable, text: string): unknown {
  const value = parseText(row.form, text);
  const isReading = row.path === 'apiReadTokens';
  if (!(isReading || row.path === 'apiTokens') || !Array.isArray(value)) return value;
  const tokens = [...new Set(value)];
  const name = isReading ? 'environment read' : 'environment';
  return tokens.map((token, index) => ({
    name: tokens.length === 1 ? name : `${name} ${index + 1}`,
    token,
    ...(!isReading && { scope: 'admin' }),
  }));
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
  const row = reloadableRows.find((each) => each.path === rootText(issue.path));
  const shown = row !== undefined && !row.secret && (typeof got !== 'object' || got === null);
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

function valueAt(raw: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined), raw);
}

function setAt(tree: Tree, path: string, value: unknown): void {
  const [first = '', second] = path.split('.');
  if (second === undefined) {
    tree[first] = value;
    return;
  }
  const inner = tree[first];
  tree[first] = isTree(inner) ? { ...inner, [second]: value } : { [second]: value };
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
