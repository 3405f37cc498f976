// Reloadable settings: the schema of configuration files, and the effective settings as the node uses them.
import { z } from 'zod';
import type { SettingTree } from '../../api/core/setting.ts';
import { type ReloadableValues, reloadableSettings } from '../../api/settings/reloadable.ts';
import { deepFreeze } from './deep-freeze.ts';

/** A client of the REST API. Scope `read` allows only GET. */
export type ApiToken = NonNullable<ReloadableValues['apiTokens']>[number];

/**
 * Effective settings. Times are milliseconds, except those of `roomDefaults`, which are seconds as in REST; null = no limit, or never.
 * The first of `secretKeys` signs, all verify; without one, keys are random and valid on this node only. All `webhooks.secrets` sign.
 */
export type ReloadableSettings = ReturnType<typeof effectiveSettings>;

/** A configuration file. Every name is optional; unknown names are rejected. Times are seconds. */
export const fileSchema = strictTree(reloadableSettings);

function strictTree(tree: SettingTree): z.ZodObject {
  const fields = Object.entries(tree).map(([name, each]) => {
    const schema = 'settings' in each ? strictTree(each.settings) : each.schema;
    return [name, schema.optional()] as const;
  });
  return z.strictObject(Object.fromEntries(fields));
}

/** Joins tokens of both scopes and completes what depends on other settings. */
export function effectiveSettings({ apiTokens = [], apiReadTokens = [], s3, webhooks, timeouts, ...tree }: ReloadableValues) {
  const { urls, livekitUrls, secret, ...delivery } = webhooks;
  return deepFreeze({
    ...tree,
    apiTokens: [...apiTokens, ...apiReadTokens],
    secretKeys: tree.secretKeys ?? [],
    accessKeys: tree.accessKeys ?? [],
    componentsUsed: unique(tree.componentsUsed),
    corsOrigins: need(tree.corsOrigins),
    iceServers: tree.iceServers ?? [],
    webhooks: {
      ...delivery,
      urls: unique(urls),
      livekitUrls: unique(livekitUrls),
      secrets: unique(secret),
      allowPrivate: need(webhooks.allowPrivate),
    },
    timeouts: { ...timeouts, rawRecordingTtl: timeouts.rawRecordingTtl ?? null },
    s3: effectiveS3(s3),
    avMaxCpu: need(tree.avMaxCpu),
  });
}

function effectiveS3({ bucket, accessKeyId, secretAccessKey, ...more }: ReloadableValues['s3']) {
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) return null;
  const { region, endpoint, pathPrefix } = more;
  return { bucket, accessKeyId, secretAccessKey, region: region ?? null, endpoint: endpoint ?? null, pathPrefix: pathPrefix ?? null };
}

function unique<T>(list: readonly T[] = []): readonly T[] {
  return [...new Set(list)];
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a setting without a default');
  return value;
}
