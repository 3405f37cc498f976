// Addresses of loopback that belong to one pod runner: 127.<block>.0.0/16, claimed by the DNS server that its pods ask.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { DnsServer } from '../../network/dns-server.ts';

/** Not that of DNS: pods are told the port as well, and no right is needed for it. */
const dnsPort = 10_053;
const blocks = { from: 16, count: 200 };

export type LoopbackBlock = { number: number; dns: DnsServer };

/** Blocks of which nobody has that address: other runners of this machine have others. */
export async function claimBlock(): Promise<LoopbackBlock> {
  const start = Math.floor(Math.random() * blocks.count);
  for (let tries = 0; tries < blocks.count; tries += 1) {
    const number = blocks.from + ((start + tries) % blocks.count);
    const dns = await listen(`127.${number}.0.10`).catch(() => undefined);
    if (dns) return { number, dns };
  }
  throw new Error('no addresses of loopback are left for pods');
}

async function listen(ip: string): Promise<DnsServer> {
  const tcp = createServer().listen(dnsPort, ip);
  await once(tcp, 'listening');
  const udp = createSocket('udp4');
  try {
    udp.bind(dnsPort, ip);
    await once(udp, 'listening');
    return new DnsServer(udp, tcp);
  } catch (error) {
    tcp.close();
    udp.close();
    throw error;
  }
}
