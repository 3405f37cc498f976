// The configuration of coturn: where it listens, and that it relays to the media address of this node only (coturn cannot filter by port).

export type CoturnSettings = {
  listenIp: string;
  port: number;
  tls: { port: number; keyPath: string; certPath: string } | undefined;
  /** Where relayed sockets are bound, and the only address that they may send to: that of the node's media. */
  mediaIp: string;
  /** Shared with the node only: it makes credentials of it. */
  secret: string;
  /** A folder of its own that it may write to. */
  folder: string;
};

export const realm = 'mediarooms';

/** The text of turnserver.conf(5). It holds the secret: to be written for the owner's eyes only. */
export function coturnConfig({ listenIp, port, tls, mediaIp, secret, folder }: CoturnSettings): string {
  const lines = [
    `listening-ip=${listenIp}`,
    `listening-port=${port}`,
    ...(tls ? [`tls-listening-port=${tls.port}`, `cert=${tls.certPath}`, `pkey=${tls.keyPath}`, 'no-tlsv1', 'no-tlsv1_1'] : ['no-tls']),
    'no-dtls',
    `relay-ip=${mediaIp}`,
    `realm=${realm}`,
    'fingerprint',
    'use-auth-secret',
    `static-auth-secret=${secret}`,
    'stale-nonce=600',
    // A peer needs one allocation per transport and protocol; more is somebody trying.
    'user-quota=16',
    // Half of the ports that it relays from, so that relays never take all that the host has.
    'total-quota=8192',
    'no-tcp-relay',
    'no-multicast-peers',
    'denied-peer-ip=0.0.0.0-255.255.255.255',
    'denied-peer-ip=::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    `allowed-peer-ip=${mediaIp}`,
    ...(isLoopback(mediaIp) ? ['allow-loopback-peers'] : []),
    'no-cli',
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
