// Locates a registrar: resolves addresses in order of preference by SRV and A/AAAA records (RFC 3263, section 4), with a timeout.
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { Timer } from '../../../common/timer.ts';
import { defaultPort, type Registrar, type SipTransport } from './registrar.ts';

export type SipTarget = { transport: SipTransport; ip: string; port: number };

export type SipDns = {
  srv(name: string): Promise<{ name: string; port: number; priority: number; weight: number }[]>;
  addresses(host: string): Promise<string[]>;
};

/** Milliseconds for the whole resolution. */
const resolveTimeoutMs = 5000;
/** Milliseconds of one SRV query. Short, because names in a hosts file must also resolve without a DNS server. */
const srvTimeout = 1000;
const srvTries = 2;
/** Maximum of addresses. */
const maxTargets = 16;
/** Order of transports if none is given; TLS only if requested. */
const unnamed = [
  ['UDP', '_sip._udp.'],
  ['TCP', '_sip._tcp.'],
] as const satisfies readonly (readonly [SipTransport, string])[];
const services = { UDP: '_sip._udp.', TCP: '_sip._tcp.', TLS: '_sips._tcp.' } as const;

function systemSipDns(): SipDns {
  const resolver = new Resolver({ timeout: srvTimeout, tries: srvTries });
  return {
    srv: (name) => resolver.resolveSrv(name),
    // Uses the system resolver, including its hosts file and search domains.
    addresses: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  };
}

/** @throws Error if no address exists */
export async function locateServers(registrar: Registrar, sipDns: SipDns = systemSipDns(), random = Math.random): Promise<SipTarget[]> {
  const late = Promise.withResolvers<never>();
  const timer = new Timer(resolveTimeoutMs, () => late.reject(new Error(`The name ${registrar.host} was not resolved in time`)));
  try {
    return await Promise.race([resolve(registrar, sipDns, random), late.promise]);
  } finally {
    timer.stop();
  }
}

async function resolve(registrar: Registrar, sipDns: SipDns, random: () => number): Promise<SipTarget[]> {
  const { host, port, transport = 'UDP' } = registrar;
  if (isIP(host) !== 0) return [{ transport, ip: host, port: port ?? defaultPort(transport) }];
  // A port in the address means the host itself (section 4.2).
  if (port === undefined) {
    const asked = registrar.transport ? [[registrar.transport, services[registrar.transport]] as const] : unnamed;
    const answers = await Promise.all(asked.map(async ([, service]) => sipDns.srv(`${service}${host}`).catch(() => [])));
    for (const [index, [each]] of asked.entries()) {
      const records = answers[index] ?? [];
      const targets = await Promise.all(
        inOrder(records, random)
          .slice(0, maxTargets)
          .map((record) => at(sipDns, record.name, record.port, each).catch(() => [])),
      );
      const found = targets.flat().slice(0, maxTargets);
      if (found.length > 0) return found;
    }
  }
  const found = await at(sipDns, host, port ?? defaultPort(transport), transport).catch(() => []);
  if (found.length === 0) throw new Error(`The name ${host} has no address`);
  return found.slice(0, maxTargets);
}

async function at(sipDns: SipDns, host: string, port: number, transport: SipTransport): Promise<SipTarget[]> {
  const addresses = isIP(host) === 0 ? await sipDns.addresses(host) : [host];
  return addresses.map((ip) => ({ transport, ip, port }));
}

/** By priority, and by weighted random choice among equal priorities (RFC 2782). */
function inOrder<R extends { priority: number; weight: number }>(records: readonly R[], random: () => number): R[] {
  // `-log(random) / weight` is exponentially distributed with rate `weight`: the smallest value is drawn with that weight.
  const drawn = records.map((record) => ({ record, time: -Math.log(1 - random()) / (record.weight || 0.01) }));
  return drawn.sort((a, b) => a.record.priority - b.record.priority || a.time - b.time).map(({ record }) => record);
}
