// Configuration summary for the start log line and /health: secrets only as set or unset.
import type { Config } from '../config.ts';
import type { ReloadableConfigView } from './reloadable-config.ts';

const shown = (secret: unknown): 'set' | 'unset' =>
  secret === null || secret === undefined || (Array.isArray(secret) && secret.length === 0) ? 'unset' : 'set';

/** The effective configuration without secrets. */
export function describeConfig(config: Config, hot: ReloadableConfigView): Record<string, unknown> {
  const { apiTokens, accessKeys, secretKeys, iceServers, webhooks, s3, ...settings } = hot.current;
  return {
    ...config,
    dist: { ...config.dist, cookie: shown(config.dist.cookie) },
    settings: {
      ...settings,
      apiTokens: apiTokens.map(({ name, scope }) => ({ name, scope, token: 'set' })),
      accessKeys: accessKeys.map(({ id }) => ({ id, key: 'set' })),
      secretKeys: shown(secretKeys),
      iceServers: shown(iceServers),
      // Receiver URLs often contain a key.
      webhooks: { ...webhooks, urls: shown(webhooks.urls), livekitUrls: shown(webhooks.livekitUrls), secrets: shown(webhooks.secrets) },
      s3: s3 && { ...s3, accessKeyId: shown(s3.accessKeyId), secretAccessKey: shown(s3.secretAccessKey) },
    },
    files: hot.files(),
    shadowed: hot.shadowed,
  };
}
