// Node configuration: read once at start, complete and frozen. Reloadable settings are in ReloadableConfig (config/reloadable-config.ts).
import { randomBytes } from 'node:crypto';
import { resolve as resolvePath } from 'node:path';
import { minTokenLength } from '../api/settings/values.ts';
import { knownNames } from '../api/settings/variables.ts';
import { hostAndPort, isLoopbackAddress, isLoopbackHost, isUnspecifiedAddress } from './config/addresses.ts';
import { deepFreeze } from './config/deep-freeze.ts';
import { type DistConfig, hostOf, readDist } from './config/dist.ts';
import { ConfigError, ConfigReader, configErrorMessage } from './config/reader.ts';
import { loadReloadableConfig, type ReloadableConfig } from './config/reloadable-config.ts';
import { type ConfigSystem, localSystem } from './config/system.ts';
import { readTls } from './config/tls.ts';
import { readWebrtc } from './config/webrtc.ts';
import type { Environment } from './env.ts';

/** All static settings. Times are in milliseconds, paths are absolute. */
export type Config = Awaited<ReturnType<typeof readConfig>>;

/** `hot` reloads its files only after hot.watch(). */
export type LoadedConfig = { config: Config; hot: ReloadableConfig; warnings: readonly string[] };

/** Reads the complete configuration. @throws ConfigError with one message per error */
export async function loadConfig(env: Environment, system: ConfigSystem = localSystem()): Promise<LoadedConfig> {
  const reader = new ConfigReader(env);
  const ip = reader.read('IP');
  const host = reader.read('HOST');
  const development = isLoopbackAddress(ip) && (host === undefined || isLoopbackHost(host));
  const cores = await system.cores();
  const configFiles = [...new Set(reader.read('CONFIG_FILES') ?? [])].map((file) => resolvePath(file));
  const loaded = await loadReloadableConfig({
    files: configFiles,
    env: reader.env,
    derived: {
      apiTokens: development ? [{ name: 'development', token: randomBytes(18).toString('base64url'), scope: 'admin' }] : undefined,
      avMaxCpu: Math.max(0.5, cores - 0.5),
    },
  });
  if ('errors' in loaded) reader.errors.push(...loaded.errors);
  const hot = 'hot' in loaded ? loaded.hot : undefined;
  const config = await readConfig(reader, system, { ip, cores, configFiles, hot });
  if (reader.errors.length > 0 || !hot) throw new ConfigError(reader.errors);
  return { config: deepFreeze(config), hot, warnings: [...reader.warnings, ...generalWarnings(reader, hot)] };
}

type Known = { ip: string; cores: number; configFiles: string[]; hot: ReloadableConfig | undefined };

async function readConfig(reader: ConfigReader, system: ConfigSystem, { ip, cores, configFiles, hot }: Known) {
  let route: Promise<string> | undefined;
  const routeAddress = () => {
    route ??= system.defaultRouteAddress();
    return route;
  };
  const port = reader.read('PORT');
  const metrics = { ip: reader.read('METRICS_IP'), port: reader.read('METRICS_PORT') };
  checkDifferentPorts(reader, { ip, port }, metrics);
  const secretKey = hot?.current.secretKeys[0];
  const dist = await readDist(reader, system, { ip, routeAddress, secretKey });
  const tls = await readTls(reader, system, 'SSL_KEY_PATH', 'SSL_CERT_PATH');
  const addresses = await readAddresses(reader, { ip, port, dist, routeAddress });
  const webrtc = await readWebrtc(reader, system, { cores, routeAddress, tls });
  return {
    ip,
    port,
    ...addresses,
    metrics,
    traces: { endpoint: reader.read('TRACES_ENDPOINT') ?? null, samplePercent: reader.read('TRACES_SAMPLE_PERCENT') },
    structuredLogging: reader.read('STRUCTURED_LOGGING'),
    resourcesBasePath: await readResources(reader, system),
    tls,
    checkOrigin: reader.read('CHECK_ORIGIN'),
    trustProxy: reader.read('TRUST_PROXY'),
    webrtc,
    livekit: { enabled: reader.read('LIVEKIT_ENABLED') },
    sip: { ip: reader.read('SIP_IP') ?? null, ports: reader.read('SIP_PORT'), rtpPorts: reader.read('SIP_RTP_PORTS') },
    dist,
    drainTimeout: reader.read('DRAIN_TIMEOUT'),
    shutdownDelay: reader.read('SHUTDOWN_DELAY'),
    configFiles,
    gitCommit: reader.read('GIT_COMMIT') ?? (await system.gitCommit()) ?? 'unknown',
    cores,
  };
}

type AddressInputs = { ip: string; port: number; dist: DistConfig; routeAddress: () => Promise<string> };

/** The default for port 0 ends with `:0`: see withActualPort. */
async function readAddresses(reader: ConfigReader, { ip, port, dist, routeAddress }: AddressInputs) {
  const named = dist.enabled && reader.env.read('DIST_NODE_NAME') !== undefined;
  const found = isUnspecifiedAddress(ip) ? (named ? hostOf(dist.nodeName) : await routeAddress()) : ip;
  const byDefault = hostAndPort(found, port);
  // No warning if HOST is set but invalid: that is reported as an error.
  if (isUnspecifiedAddress(ip) && !reader.env.read('HOST')) {
    reader.warnings.push(`SVC_HOST is not set and SVC_IP is a wildcard: clients get ${byDefault}, which may be unreachable for them`);
  }
  return { host: reader.read('HOST') ?? byDefault, internalAddress: reader.read('INTERNAL_ADDRESS') ?? byDefault };
}

async function readResources(reader: ConfigReader, system: ConfigSystem): Promise<string> {
  const path = resolvePath(reader.read('RESOURCES_BASE_PATH'));
  const code = await system.makeWritable(path);
  const name = reader.nameOf('RESOURCES_BASE_PATH');
  if (code !== undefined) reader.errors.push(configErrorMessage(name, 'to be a writable directory', `${path} (${code})`));
  return path;
}

function checkDifferentPorts(reader: ConfigReader, http: { ip: string; port: number }, metrics: { ip: string; port: number }): void {
  const overlap = http.ip === metrics.ip || isUnspecifiedAddress(http.ip) || isUnspecifiedAddress(metrics.ip);
  if (http.port === 0 || http.port !== metrics.port || !overlap) return;
  reader.errors.push(`Expected ${reader.nameOf('PORT')} and ${reader.nameOf('METRICS_PORT')} to be different, got: ${http.port} for both`);
}

function generalWarnings(reader: ConfigReader, hot: ReloadableConfig): string[] {
  const { legacy } = reader.env;
  const unknown = reader.env.unknown(knownNames);
  const short = hot.current.secretKeys.some((key) => key.length < 32);
  // Failed attempts are rate limited, but a short token can still be guessed.
  const shortToken = hot.current.apiTokens.some(({ token }) => token.length < minTokenLength);
  return [
    ...(legacy.length > 0 ? [`Deprecated variables, removed in version 0.8.0 (use SVC_ instead of LEGACY_): ${legacy.join(', ')}`] : []),
    ...(unknown.length > 0 ? [`Unknown variables, ignored: ${unknown.join(', ')}`] : []),
    ...(hot.shadowed.length > 0 ? [`The environment overrides these names in configuration files: ${hot.shadowed.join(', ')}`] : []),
    ...(short ? ['A key of SVC_SECRET_KEY_BASE is shorter than 32 characters and can be guessed (try: openssl rand -base64 48)'] : []),
    ...(shortToken ? [`An API token is shorter than ${minTokenLength} characters and can be guessed (try: openssl rand -hex 24)`] : []),
  ];
}
