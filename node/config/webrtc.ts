// WebRTC settings: listen address, announced addresses, and TURN.
import { isIP } from 'node:net';
import { isUnspecifiedAddress } from './addresses.ts';
import { resolveAddresses } from './announced.ts';
import { type ConfigReader, configErrorMessage } from './reader.ts';
import type { ConfigSystem } from './system.ts';
import { readTls, type TlsFiles } from './tls.ts';

export type WebrtcConfig = {
  /** An IP address, resolved if a host name was configured. */
  listenIp: string;
  /** Addresses known at start, or the file that contains them. AnnouncedAddresses (config/announced.ts) combines both. */
  announced: { addresses: readonly string[] } | { file: string };
  /** null: the first free block from 50000; else exactly this port. */
  basePort: number | null;
  workers: number;
  /** `batch`: workers send several packets with one system call. `gso`: several packets of a client as one. */
  sending: { batch: boolean; gso: boolean };
  /** `relayIp`: local address from which TURN relays to media. */
  turn: { enabled: boolean; port: number; tls: TurnTls | null; relayIp: string };
};

/**
 * `host`: host of the URLs for clients, a leading `*` for the announced address; null: the host of HOST. `publicPort`: port of the URLs.
 * `proxyProtocol`: connections begin with a PROXY protocol header.
 */
export type TurnTls = TlsFiles & { port: number; publicPort: number; host: string | null; proxyProtocol: boolean };

/** `tls`: the TLS files of HTTP. */
export type WebrtcInputs = { cores: number; routeAddress: () => Promise<string>; tls: TlsFiles | null };

const resolveTimeoutMs = 5000;

export async function readWebrtc(reader: ConfigReader, system: ConfigSystem, inputs: WebrtcInputs): Promise<WebrtcConfig> {
  const listenIp = await readListenIp(reader, system);
  const workers = reader.read('WEBRTC_WORKERS') ?? Math.max(1, Math.floor(inputs.cores));
  const basePort = reader.read('WEBRTC_BASE_PORT') ?? null;
  if (basePort !== null && basePort + workers - 1 > 65_535) {
    const expected = `to leave room for the ports of ${workers} workers below 65536`;
    reader.errors.push(configErrorMessage(reader.nameOf('WEBRTC_BASE_PORT'), expected, String(basePort)));
  }
  return {
    listenIp,
    announced: await readAnnounced(reader, system, listenIp, inputs.routeAddress),
    basePort,
    workers,
    sending: { batch: reader.read('WEBRTC_BATCH'), gso: reader.read('WEBRTC_GSO') },
    turn: await readTurn(reader, system, inputs, listenIp),
  };
}

async function readListenIp(reader: ConfigReader, system: ConfigSystem): Promise<string> {
  const given = reader.read('WEBRTC_TURN_LISTEN_IP');
  if (isIP(given) !== 0) return given;
  const addresses = await system.resolve(given, resolveTimeoutMs).catch(() => []);
  const found = addresses.find((address) => isIP(address) === 4) ?? addresses[0];
  if (found !== undefined) return found;
  reader.errors.push(configErrorMessage(reader.nameOf('WEBRTC_TURN_LISTEN_IP'), 'to be a host name that DNS resolves', given));
  return '127.0.0.1';
}

async function readAnnounced(
  reader: ConfigReader,
  system: ConfigSystem,
  listenIp: string,
  routeAddress: () => Promise<string>,
): Promise<WebrtcConfig['announced']> {
  const names = reader.read('WEBRTC_TURN_IP');
  const file = reader.read('WEBRTC_TURN_IP_FILE');
  if (reader.env.read('WEBRTC_TURN_IP') && file !== undefined) {
    const both = `${reader.nameOf('WEBRTC_TURN_IP')} and ${reader.nameOf('WEBRTC_TURN_IP_FILE')}`;
    reader.errors.push(`Expected only one of ${both} to be set, got: both`);
  }
  if (file !== undefined) return { file };
  if (names === undefined) return { addresses: [await defaultAnnounced(reader, listenIp, routeAddress)] };
  try {
    return { addresses: await resolveAddresses(names, listenIp, system.resolve) };
  } catch {
    reader.errors.push(configErrorMessage(reader.nameOf('WEBRTC_TURN_IP'), 'to have only host names that DNS resolves', names.join(' ')));
    return { addresses: [] };
  }
}

async function defaultAnnounced(reader: ConfigReader, listenIp: string, routeAddress: () => Promise<string>): Promise<string> {
  if (!isUnspecifiedAddress(listenIp)) return listenIp;
  const address = await routeAddress();
  if (!reader.env.read('WEBRTC_TURN_IP')) {
    reader.warnings.push(
      `SVC_WEBRTC_TURN_IP is not set and media listens on all addresses: clients receive ${address}, which they may not reach`,
    );
  }
  return address;
}

async function readTurn(
  reader: ConfigReader,
  system: ConfigSystem,
  { tls, routeAddress }: WebrtcInputs,
  listenIp: string,
): Promise<WebrtcConfig['turn']> {
  const enabled = reader.read('WEBRTC_TURN_ENABLED');
  const port = reader.read('WEBRTC_TURN_PORT');
  const tlsPort = reader.read('WEBRTC_TURN_TLS_PORT');
  const publicPort = reader.read('WEBRTC_TURN_TLS_PUBLIC_PORT');
  const proxyProtocol = reader.read('WEBRTC_TURN_TLS_PROXY_PROTOCOL');
  const own = await readTls(reader, system, 'WEBRTC_TURN_TLS_KEY_PATH', 'WEBRTC_TURN_TLS_CERT_PATH');
  const files = own ?? tls;
  const host = reader.read('WEBRTC_TURN_TLS_HOST') ?? (own === null ? null : '*');
  const relayIp = enabled && isUnspecifiedAddress(listenIp) ? await routeAddress() : listenIp;
  if (!enabled || tlsPort === undefined) return { enabled, port, tls: null, relayIp };
  if (tlsPort === port) {
    const expected = 'to be another port than SVC_WEBRTC_TURN_PORT';
    reader.errors.push(configErrorMessage(reader.nameOf('WEBRTC_TURN_TLS_PORT'), expected, String(tlsPort)));
  }
  if (files === null) {
    const expected = 'to be set only together with SVC_WEBRTC_TURN_TLS_KEY_PATH and _CERT_PATH, or SVC_SSL_KEY_PATH and _CERT_PATH';
    reader.errors.push(configErrorMessage(reader.nameOf('WEBRTC_TURN_TLS_PORT'), expected, String(tlsPort)));
    return { enabled, port, tls: null, relayIp };
  }
  return { enabled, port, tls: { ...files, port: tlsPort, publicPort: publicPort ?? tlsPort, host, proxyProtocol }, relayIp };
}
