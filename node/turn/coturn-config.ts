// coturn configuration: listen addresses, and relaying to the media address of this node only (coturn cannot filter by port).

import { isIPv6 } from 'node:net';
import type { CoturnCli } from './coturn-cli.ts';

export type CoturnSettings = {
  listenIp: string;
  port: number;
  tls: { port: number; keyPath: string; certPath: string } | undefined;
  /** Address for relay sockets, and the only destination address: the media address of the node. */
  mediaIp: string;
  /** Shared only with the node, which creates credentials with it. */
  secret: string;
  /** Command line of coturn on loopback, see coturn-cli.ts. */
  cli: CoturnCli;
  /** A dedicated writable folder. */
  folder: string;
};

const realm = 'mediarooms';
/** Half of the relay ports, so that relays never exhaust the ports of the host. */
const maxRelays = 8192;

/** The text of turnserver.conf(5). It contains the secret, so the file must be readable by its owner only. */
export function coturnConfig({ listenIp, port, tls, mediaIp, secret, cli, folder }: CoturnSettings): string {
  const lines = [
    `listening-ip=${listenIp}`,
    `listening-port=${port}`,
    ...(tls ? [`tls-listening-port=${tls.port}`, `cert=${tls.certPath}`, `pkey=${tls.keyPath}`, 'no-tlsv1', 'no-tlsv1_1'] : ['no-tls']),
    'no-dtls',
    `relay-ip=${mediaIp}`,
    // Browsers do not request a family, and there are relays of this one only.
    `allocation-default-address-family=${isIPv6(mediaIp) ? 'ipv6' : 'ipv4'}`,
    `realm=${realm}`,
    'fingerprint',
    'use-auth-secret',
    `static-auth-secret=${secret}`,
    'stale-nonce=600',
    // A peer needs one allocation per transport and protocol. More are an attack.
    'user-quota=16',
    `total-quota=${maxRelays}`,
    'no-tcp-relay',
    'no-multicast-peers',
    'denied-peer-ip=0.0.0.0-255.255.255.255',
    'denied-peer-ip=::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    `allowed-peer-ip=${mediaIp}`,
    ...(isLoopback(mediaIp) ? ['allow-loopback-peers'] : []),
    // Version 4.6 knows no such line, and enables the command line without it.
    'cli',
    'cli-ip=127.0.0.1',
    `cli-port=${cli.port}`,
    `cli-password=${cli.password}`,
    `cli-max-output-sessions=${maxRelays}`,
    'no-software-attribute',
    'no-rfc5780',
    'simple-log',
    'log-file=stdout',
    `pidfile=${folder}/turnserver.pid`,
    `userdb=${folder}/turndb`,
  ];
  return `${lines.join('\n')}\n`;
}

function isLoopback(ip: string): boolean {
  return ip.startsWith('127.') || ip === '::1';
}
