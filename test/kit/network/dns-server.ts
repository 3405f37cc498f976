// DNS server for tests: A and AAAA over UDP and TCP, changed at runtime, with every fault that a server can have.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, isIP, isIPv6, type Server, type Socket, SocketAddress } from 'node:net';
import type { TestContext } from 'node:test';
import { emits, eventually } from '../eventually.ts';

export type RecordType = 'A' | 'AAAA';
/** `truncated`: UDP refers to TCP, which has the response. `garbage`: bytes that are not a response. */
export type Fault = 'nxdomain' | 'servfail' | 'refused' | 'silent' | 'truncated' | 'garbage';

const types = new Map<number, RecordType>([
  [1, 'A'],
  [28, 'AAAA'],
]);
const codes = { noError: 0, servfail: 2, nxdomain: 3, refused: 5 } as const;
/** Maximum response over UDP without EDNS (RFC 1035, section 4.2.1). */
const maxUdp = 512;
const ttl = 60;

type Question = { id: number; name: string; type: RecordType | undefined; bytes: Buffer };

export class DnsServer {
  /** The received queries, for example `A nodes.test`, in order. */
  readonly asked: string[] = [];
  readonly #records = new Map<string, Set<string>>();
  readonly #faults = new Map<RecordType, Fault>();
  readonly #udp: UdpSocket;
  readonly #tcp: Server;
  readonly #sockets = new Set<Socket>();
  readonly #events = new EventEmitter();

  constructor(udp: UdpSocket, tcp: Server) {
    this.#udp = udp;
    this.#tcp = tcp;
    udp.on('message', (message, { port, address }) => {
      const answer = this.#answer(message, maxUdp);
      if (answer) udp.send(answer, port, address);
    });
    tcp.on('connection', (socket) => this.#serve(socket));
  }

  /** `ip:port`, the format of Resolver.setServers. */
  get address(): string {
    const { address, port } = this.#udp.address();
    return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
  }

  add(name: string, ...addresses: string[]): void {
    this.#records.set(name, new Set([...(this.#records.get(name) ?? []), ...addresses]));
  }

  /** Without addresses: the name itself, which is then NXDOMAIN. */
  remove(name: string, ...addresses: string[]): void {
    if (addresses.length === 0) this.#records.delete(name);
    for (const address of addresses) this.#records.get(name)?.delete(address);
  }

  /** Applies a fault to queries of one type or of both, until restore(). */
  fail(fault: Fault, ...ofTypes: RecordType[]): void {
    for (const type of ofTypes.length > 0 ? ofTypes : types.values()) this.#faults.set(type, fault);
  }

  restore(): void {
    this.#faults.clear();
  }

  /** Resolves after this number of further queries. */
  async queries(count: number): Promise<void> {
    const until = this.asked.length + count;
    await eventually(`${count} more queries`, () => this.asked.length >= until, { wakes: emits(this.#events, 'asked') });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([
      new Promise<void>((resolve) => this.#udp.close(() => resolve())),
      new Promise<void>((resolve) => this.#tcp.close(() => resolve())),
    ]);
  }

  #serve(socket: Socket): void {
    let buffered = Buffer.alloc(0);
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
        const end = 2 + buffered.readUInt16BE(0);
        const answer = this.#answer(buffered.subarray(2, end), 0xffff);
        buffered = buffered.subarray(end);
        if (answer) socket.write(Buffer.concat([uint16(answer.length), answer]));
      }
    });
  }

  #answer(message: Buffer, limit: number): Buffer | undefined {
    const question = readQuestion(message);
    if (!question) return undefined;
    const { name, type } = question;
    this.asked.push(`${type ?? 'other'} ${name}`);
    this.#events.emit('asked');
    const fault = type && this.#faults.get(type);
    if (fault === 'silent') return undefined;
    if (fault === 'garbage') return Buffer.concat([uint16(question.id), Buffer.alloc(40, 0xc3)]);
    if (fault === 'servfail' || fault === 'refused' || fault === 'nxdomain') return reply(question, codes[fault], []);
    const known = this.#records.get(name);
    if (!known) return reply(question, codes.nxdomain, []);
    const addresses = [...known].filter((address) => isIP(address) === (type === 'A' ? 4 : 6) && type !== undefined);
    const whole = reply(question, codes.noError, addresses);
    const cut = limit === maxUdp && (fault === 'truncated' || whole.length > limit);
    return cut ? reply(question, codes.noError, [], true) : whole;
  }
}

/** Starts a server that stops with the test; `port` 0: a port that is free for UDP and TCP. */
export async function startDnsServer(t: TestContext, { ip = '127.0.0.1', port = 0 } = {}): Promise<DnsServer> {
  for (let attempts = 10; ; attempts -= 1) {
    const tcp = createServer().listen(port, ip);
    await once(tcp, 'listening');
    const udp = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
    try {
      udp.bind((tcp.address() as AddressInfo).port, ip);
      await once(udp, 'listening');
      const server = new DnsServer(udp, tcp);
      t.after(() => server.close());
      return server;
    } catch (error) {
      tcp.close();
      udp.close();
      if (attempts === 0 || port !== 0) throw error;
    }
  }
}

function readQuestion(message: Buffer): Question | undefined {
  const header = 12;
  if (message.length < header || message.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = header;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  const end = at + 5;
  if (end > message.length) return undefined;
  const type = types.get(message.readUInt16BE(at + 1));
  return { id: message.readUInt16BE(0), name: labels.join('.'), type, bytes: message.subarray(header, end) };
}

/** RFC 1035, section 4: an authoritative response. */
function reply({ id, type, bytes }: Question, code: number, addresses: readonly string[], truncated = false): Buffer {
  const flags = 0x8580 | (truncated ? 0x0200 : 0) | code;
  const header = Buffer.concat([id, flags, 1, addresses.length, 0, 0].map(uint16));
  const pointerToName = uint16(0xc00c);
  const records = addresses.map((address) => {
    const data = addressBytes(address);
    const fixed = Buffer.concat([uint16(type === 'A' ? 1 : 28), uint16(1), uint16(0), uint16(ttl), uint16(data.length)]);
    return Buffer.concat([pointerToName, fixed, data]);
  });
  return Buffer.concat([header, bytes, ...records]);
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = new SocketAddress({ address, family: 'ipv6' }).address.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const front = groups(head);
  const back = groups(tail);
  return Buffer.concat([...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back].map(uint16));
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}
