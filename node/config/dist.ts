// Distribution settings: rules for node names, strategies and ports, as in Erlang if it has such a rule.
import { isIP } from 'node:net';
import { cookie as cookieSchema } from '../../api/settings/values.ts';
import { deriveKey } from '../rooms/tokens/signing-keys.ts';
import { isLoopbackAddress, isUnspecifiedAddress } from './addresses.ts';
import { readFileLimited } from './read-file.ts';
import { type ConfigReader, configErrorMessage } from './reader.ts';
import type { ConfigSystem } from './system.ts';
import { readableFile, readTls } from './tls.ts';

export type DistConfig = {
  enabled: boolean;
  mode: 'sname' | 'name';
  /** `<nodename>@<host>`. */
  nodeName: string;
  strategy: { name: 'NODES_LIST'; nodes: readonly string[] } | { name: 'DNS'; query: string; pollingInterval: number };
  /** null: any free port. */
  ports: { min: number; max: number } | null;
  cookie: string;
  /** Whether to dial nodes that only support the Erlang cookie proof. */
  dialsErlang: boolean;
  /** Absolute paths of PEM files; `optional`: plain connections are also accepted. null: plain TCP. */
  tls: { caPath: string; certPath: string; keyPath: string; optional: boolean } | null;
  /** Listen address of distribution and EPMD; null: all addresses. */
  ip: string | null;
  tick: number;
};

export type DistInputs = { ip: string; routeAddress: () => Promise<string>; secretKey: string | undefined };

const resolveTimeoutMs = 5000;
const maxCookieFileBytes = 4096;
/** The public default cookie, which is no secret. */
const publicCookie = 'svc_cookie';

export async function readDist(reader: ConfigReader, system: ConfigSystem, inputs: DistInputs): Promise<DistConfig> {
  const enabled = reader.read('DIST_ENABLED');
  const mode = reader.read('DIST_MODE');
  const strategy = readStrategy(reader);
  const given = reader.read('DIST_NODE_NAME');
  if (enabled) checkRules(reader, given);
  const nodeName = given ?? (await defaultNodeName(reader, system, inputs));
  const cookie = await readCookie(reader, enabled, inputs);
  const isPublic = cookie === publicCookie;
  const ip = reader.read('DIST_IP') ?? (enabled ? await defaultIp(reader, system, nodeName, isPublic) : '127.0.0.1');
  if (enabled && isPublic && !(ip !== null && isLoopbackAddress(ip)))
    reader.errors.push(
      `Expected SVC_DIST_COOKIE or SVC_SECRET_KEY_BASE to be set if the distribution listens beyond loopback (SVC_DIST_IP), got: the public default cookie`,
    );
  return {
    enabled,
    mode,
    nodeName,
    strategy,
    ports: readPorts(reader),
    cookie,
    dialsErlang: reader.read('DIST_ERLANG'),
    tls: await readDistTls(reader, system),
    ip: ip !== null && isUnspecifiedAddress(ip) ? null : ip,
    tick: reader.read('DIST_TICK'),
  };
}

/** Why a host is invalid for the name mode; undefined if it is valid. */
function hostNameError(mode: 'sname' | 'name', host: string): string | undefined {
  const full = host.includes('.') || isIP(host) !== 0;
  if (mode === 'sname' && full) return 'to have a host without a dot while SVC_DIST_MODE is sname';
  if (mode === 'name' && !full) return 'to have a host with a dot or an IP address while SVC_DIST_MODE is name';
  return undefined;
}

export function hostOf(nodeName: string): string {
  return nodeName.slice(nodeName.indexOf('@') + 1);
}

function readStrategy(reader: ConfigReader): DistConfig['strategy'] {
  const nodes = [...new Set(reader.read('DIST_NODES') ?? [])];
  const query = reader.read('DIST_QUERY') ?? '';
  const pollingInterval = reader.read('DIST_POLLING_INTERVAL');
  return reader.read('DIST_STRATEGY_NAME') === 'DNS' ? { name: 'DNS', query, pollingInterval } : { name: 'NODES_LIST', nodes };
}

function checkRules(reader: ConfigReader, nodeName: string | undefined): void {
  const mode = reader.read('DIST_MODE');
  const byDns = reader.read('DIST_STRATEGY_NAME') === 'DNS';
  const fault = (name: 'DIST_MODE' | 'DIST_QUERY' | 'DIST_NODE_NAME' | 'DIST_NODES', expected: string, got: string) =>
    reader.errors.push(configErrorMessage(reader.nameOf(name), expected, got));
  // Checks whether it is set, not whether it is valid: an invalid value already has its error.
  if (byDns && !reader.env.read('DIST_QUERY')) fault('DIST_QUERY', 'to be set with SVC_DIST_STRATEGY_NAME=DNS', 'nothing');
  if (byDns && mode === 'sname') {
    fault('DIST_MODE', 'to be name with SVC_DIST_STRATEGY_NAME=DNS', 'sname');
    return;
  }
  const own = nodeName === undefined ? undefined : hostNameError(mode, hostOf(nodeName));
  if (nodeName !== undefined && own !== undefined) fault('DIST_NODE_NAME', own, nodeName);
  if (byDns) return;
  for (const node of new Set(reader.read('DIST_NODES') ?? [])) {
    const expected = hostNameError(mode, hostOf(node));
    if (expected !== undefined) fault('DIST_NODES', expected, node);
  }
}

async function defaultNodeName(reader: ConfigReader, system: ConfigSystem, { ip, routeAddress }: DistInputs): Promise<string> {
  if (reader.read('DIST_STRATEGY_NAME') === 'DNS') return `svc@${await ownAddress(reader, ip, routeAddress)}`;
  const hostname = system.hostname();
  const short = /^[A-Za-z0-9_-]+/.exec(hostname)?.[0] ?? 'localhost';
  if (reader.read('DIST_MODE') === 'sname') return `svc@${short}`;
  if (hostNameError('name', hostname) === undefined) return `svc@${hostname}`;
  if (reader.read('DIST_ENABLED') && !reader.env.read('DIST_NODE_NAME')) {
    const expected = 'to be set while SVC_DIST_MODE is name and the host name has no dot';
    reader.errors.push(configErrorMessage('SVC_DIST_NODE_NAME', expected, 'nothing'));
  }
  return `svc@${short}`;
}

async function ownAddress(reader: ConfigReader, ip: string, routeAddress: () => Promise<string>): Promise<string> {
  const given = reader.read('DIST_IP');
  if (given !== undefined && !isUnspecifiedAddress(given)) return given;
  return isUnspecifiedAddress(ip) || isLoopbackAddress(ip) ? routeAddress() : ip;
}

/**
 * In name mode the address of the local node name, so that EPMD is not reachable at other addresses; else null: all. With the public
 * default cookie (`closed`) the loopback address of the local node name, in both modes.
 */
async function defaultIp(reader: ConfigReader, system: ConfigSystem, nodeName: string, closed: boolean): Promise<string | null> {
  const byName = reader.read('DIST_MODE') === 'name';
  if (!byName && !closed) return null;
  const host = hostOf(nodeName);
  const addresses = isIP(host) !== 0 ? [host] : await system.resolve(host, resolveTimeoutMs).catch(() => []);
  // Erlang nodes connect to EPMD there: 127.0.0.1 before ::1.
  if (closed) return addresses.filter(isLoopbackAddress).toSorted((one, other) => isIP(one) - isIP(other))[0] ?? null;
  const local = new Set(system.localAddresses());
  const own = addresses.find((address) => local.has(address) || isLoopbackAddress(address));
  if (own !== undefined) return own;
  reader.warnings.push(
    `The host of the node name ${nodeName} is not a local address: distribution and EPMD listen on all addresses (set SVC_DIST_IP)`,
  );
  return null;
}

function readPorts(reader: ConfigReader): DistConfig['ports'] {
  const min = reader.read('DIST_MIN_PORT');
  const max = reader.read('DIST_MAX_PORT');
  const names = `${reader.nameOf('DIST_MIN_PORT')} and ${reader.nameOf('DIST_MAX_PORT')}`;
  const given = [reader.env.read('DIST_MIN_PORT'), reader.env.read('DIST_MAX_PORT')].filter((each) => each !== undefined);
  if (given.length === 1) reader.errors.push(`Expected ${names} to be set both or neither, got only: ${given[0]?.name}`);
  if (min === undefined || max === undefined) return null;
  if (min > max) reader.errors.push(`Expected ${names} to be a nonempty range, got: ${min} to ${max}`);
  return { min, max };
}

/** TLS of the distribution: the mode and all three files, or none. */
async function readDistTls(reader: ConfigReader, system: ConfigSystem): Promise<DistConfig['tls']> {
  const mode = reader.read('DIST_TLS');
  const caPath = await readableFile(reader, system, 'DIST_TLS_CA');
  const pair = await readTls(reader, system, 'DIST_TLS_KEY', 'DIST_TLS_CERT');
  if (mode === 'off') return null;
  if (caPath !== undefined && pair) return { caPath, ...pair, optional: mode === 'optional' };
  reader.errors.push(`Expected SVC_DIST_TLS_CA, SVC_DIST_TLS_CERT and SVC_DIST_TLS_KEY to be set with SVC_DIST_TLS=${mode}, got: not all`);
  return null;
}

async function readCookie(reader: ConfigReader, enabled: boolean, { secretKey }: DistInputs): Promise<string> {
  if (enabled && secretKey === undefined) {
    reader.warnings.push('SVC_SECRET_KEY_BASE is not set: peer tokens are valid only on this node, and only until it ends');
  }
  const given = reader.read('DIST_COOKIE');
  const file = reader.read('DIST_COOKIE_FILE');
  if (reader.env.read('DIST_COOKIE') && file !== undefined)
    reader.errors.push(
      `Expected only one of ${reader.nameOf('DIST_COOKIE')} and ${reader.nameOf('DIST_COOKIE_FILE')} to be set, got: both`,
    );
  if (given !== undefined) return given;
  if (file !== undefined) return await cookieOf(reader, file);
  return secretKey === undefined ? publicCookie : Buffer.from(deriveKey(secretKey, 'dist cookie').secret).toString('base64url');
}

/** The cookie in a file; after an error any secret text, so that all errors are found. */
async function cookieOf(reader: ConfigReader, file: string): Promise<string> {
  const bytes = await readFileLimited(file, maxCookieFileBytes).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
  const name = reader.nameOf('DIST_COOKIE_FILE');
  if (typeof bytes === 'string') reader.errors.push(configErrorMessage(name, 'to be a readable file', `${file} (${bytes})`));
  const result = cookieSchema.safeParse(bytes.toString().replace(/\r?\n$/, ''));
  if (typeof bytes !== 'string' && !result.success) {
    const expected = (result.error.issues[0]?.message ?? 'to be valid').replace(/^to be/, 'to contain');
    reader.errors.push(configErrorMessage(name, expected, '', true));
  }
  return result.data ?? 'invalid';
}
