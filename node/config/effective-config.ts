// Effective configuration: every variable as in the environment, with its source. Secrets are only shown as set.

import type { ConfigSource, ConfigValue } from '../../api/node.ts';
import type { Config } from '../config.ts';
import type { ReloadableConfig } from './reloadable-config.ts';
import type { ReloadableSettings } from './settings.ts';
import { type ReloadableName, type Row, reloadableRows, type StaticName, staticVariables } from './variables.ts';

/** Placeholder of a secret that is set. */
export const redactedValue = '***';

type Value = ConfigValue['value'];

/** `changed`: actual values that differ from the configuration, for example the port for port 0. */
export function effectiveConfig(config: Config, hot: ReloadableConfig, changed: Partial<Record<StaticName, Value>> = {}): ConfigValue[] {
  const cold = { ...coldValues(config), ...changed };
  const settings = hotValues(hot.current);
  const names = Object.keys(staticVariables) as StaticName[];
  return [
    ...names.map((name) => shown(name, staticVariables[name], cold[name], hot.sourceOf(name), false)),
    ...reloadableRows.map((row) => shown(row.name, row, settings[row.name], hot.sourceOf(row.name, row.path), true)),
  ].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function shown(name: string, row: Row, value: Value | undefined, source: ConfigSource, reloadable: boolean): ConfigValue {
  const isSet = value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  const secret = row.secret ?? false;
  return {
    name: `SVC_${name}`,
    value: secret && isSet ? redactedValue : isSet ? value : null,
    source,
    secret,
    reloadable,
    meaning: row.meaning,
  };
}

function coldValues({ webrtc, dist, tls, ...config }: Config): Record<StaticName, Value> {
  const { turn, announced } = webrtc;
  const { strategy } = dist;
  const listed = strategy.name === 'NODES_LIST' ? strategy : undefined;
  const asked = strategy.name === 'DNS' ? strategy : undefined;
  return {
    IP: config.ip,
    PORT: config.port,
    HOST: config.host,
    INTERNAL_ADDRESS: config.internalAddress,
    METRICS_IP: config.metrics.ip,
    METRICS_PORT: config.metrics.port,
    STRUCTURED_LOGGING: config.structuredLogging,
    RESOURCES_BASE_PATH: config.resourcesBasePath,
    SSL_KEY_PATH: tls?.keyPath ?? null,
    SSL_CERT_PATH: tls?.certPath ?? null,
    CHECK_ORIGIN: config.checkOrigin === 'any' ? false : config.checkOrigin === 'same-host' ? true : [...config.checkOrigin],
    TRUST_PROXY: config.trustProxy.hops === 0 ? false : [config.trustProxy.hops ?? [], config.trustProxy.networks].flat().map(String),
    WEBRTC_TURN_LISTEN_IP: webrtc.listenIp,
    WEBRTC_TURN_IP: 'addresses' in announced ? [...announced.addresses] : null,
    WEBRTC_TURN_IP_FILE: 'file' in announced ? announced.file : null,
    WEBRTC_BASE_PORT: webrtc.basePort,
    WEBRTC_WORKERS: webrtc.workers,
    WEBRTC_TURN_ENABLED: turn.enabled,
    WEBRTC_TURN_PORT: turn.port,
    WEBRTC_TURN_TLS_PORT: turn.tls?.port ?? null,
    WEBRTC_TURN_TLS_KEY_PATH: turn.tls?.keyPath ?? null,
    WEBRTC_TURN_TLS_CERT_PATH: turn.tls?.certPath ?? null,
    WEBRTC_TURN_TLS_HOST: turn.tls?.host ?? null,
    SIP_IP: config.sip.ip,
    SIP_PORT: rangeText(config.sip.ports),
    SIP_RTP_PORTS: rangeText(config.sip.rtpPorts),
    DIST_ENABLED: dist.enabled,
    DIST_MODE: dist.mode,
    DIST_NODE_NAME: dist.nodeName,
    DIST_STRATEGY_NAME: strategy.name,
    DIST_NODES: listed ? [...listed.nodes] : null,
    DIST_QUERY: asked?.query ?? null,
    DIST_POLLING_INTERVAL: asked?.pollingInterval ?? null,
    DIST_MIN_PORT: dist.ports?.min ?? null,
    DIST_MAX_PORT: dist.ports?.max ?? null,
    DIST_COOKIE: dist.cookie,
    DIST_ERLANG: dist.dialsErlang,
    DIST_TLS: dist.tls === null ? 'off' : dist.tls.optional ? 'optional' : 'required',
    DIST_TLS_CA: dist.tls?.caPath ?? null,
    DIST_TLS_CERT: dist.tls?.certPath ?? null,
    DIST_TLS_KEY: dist.tls?.keyPath ?? null,
    DIST_IP: dist.ip,
    DIST_TICK: inSeconds(dist.tick),
    DRAIN_TIMEOUT: inSeconds(config.drainTimeout),
    SHUTDOWN_DELAY: inSeconds(config.shutdownDelay),
    CONFIG_FILES: [...config.configFiles],
    GIT_COMMIT: config.gitCommit,
  };
}

function hotValues({ webhooks, limits, timeouts, roomDefaults, s3, ...settings }: ReloadableSettings): Record<ReloadableName, Value> {
  const named = (scope: 'admin' | 'read') => settings.apiTokens.filter((token) => token.scope === scope).map(({ name }) => name);
  return {
    SERVER_API_TOKEN: named('admin'),
    SERVER_API_READ_TOKEN: named('read'),
    SECRET_KEY_BASE: [...settings.secretKeys],
    COMPONENTS_USED: [...settings.componentsUsed],
    LOG_LEVEL: settings.logLevel,
    CORS_ORIGINS: [...settings.corsOrigins],
    ICE_SERVERS: settings.iceServers.map(({ urls }) => [urls].flat().join(' ')),
    WEBRTC_MAX_INCOMING_BITRATE: settings.webrtc.maxIncomingBitrate,
    S3_BUCKET: s3?.bucket ?? null,
    S3_REGION: s3?.region ?? null,
    S3_ENDPOINT: s3?.endpoint ?? null,
    S3_ACCESS_KEY_ID: s3?.accessKeyId ?? null,
    S3_SECRET_ACCESS_KEY: s3?.secretAccessKey ?? null,
    S3_PATH_PREFIX: s3?.pathPrefix ?? null,
    PEER_RESUME_WINDOW: inSeconds(timeouts.peerResumeWindow),
    PEER_DISCONNECTED_TIMEOUT: roomDefaults.peerDisconnectedTimeout,
    PEERLESS_PURGE_TIMEOUT: roomDefaults.peerlessPurgeTimeout,
    RAW_RECORDING_TTL: timeouts.rawRecordingTtl === null ? null : inSeconds(timeouts.rawRecordingTtl),
    ALLOW_PRIVATE_ADDRESSES: settings.allowPrivateAddresses,
    WEBHOOK_URLS: [...webhooks.urls],
    WEBHOOK_SECRET: [...webhooks.secrets],
    WEBHOOK_MAX_AGE: inSeconds(webhooks.maxAge),
    WEBHOOK_ALLOW_PRIVATE: webhooks.allowPrivate,
    MAX_ROOMS: limits.maxRooms,
    MAX_PEERS_PER_ROOM: limits.maxPeersPerRoom,
    MAX_TRACKS_PER_PEER: limits.maxTracksPerPeer,
    RATE_LIMIT_API: limits.rateLimitApi,
    RATE_LIMIT_SOCKET: limits.rateLimitSocket,
    PENDING_MAX_BYTES: limits.pendingMaxBytes,
    DATA_MESSAGE_MAX_BYTES: limits.dataMessageMaxBytes,
    AV_MAX_CPU: settings.avMaxCpu,
  };
}

function inSeconds(milliseconds: number): number {
  return milliseconds / 1000;
}

function rangeText({ min, max }: { min: number; max: number }): string {
  return `${min}-${max}`;
}
