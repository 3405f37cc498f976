// EPMD packets: encodes and parses them (Erlang/OTP, "Distribution Protocol", "EPMD Protocol").
import { isUtf8 } from 'node:buffer';
import { WireError } from '../wire-error.ts';

const epmdCodes = {
  names: 110,
  dump: 100,
  kill: 107,
  stop: 115,
  alive: 120,
  portPlease: 122,
  portReply: 119,
  aliveReply: 121,
  aliveReplyExtended: 118,
} as const;

/** Version of the handshake in OTP 25 to 27, both highest and lowest. */
export const distributionVersion = 6;
/** Maximum request size: an ALIVE2_REQ with a name and an extra field of 255 bytes each. */
export const maxEpmdRequest = 13 + 255 + 255;
const maxName = 255;
const visibleNode = 77;
const hiddenNode = 72;

export type NodeEntry = { name: string; port: number; hidden: boolean; highest: number; lowest: number; extra: Buffer };
export type EpmdRequest =
  | { kind: 'alive'; entry: NodeEntry }
  | { kind: 'portPlease'; name: string }
  | { kind: 'names' }
  | { kind: 'dump' }
  | { kind: 'kill' }
  | { kind: 'stop' };

/** Parses a request without its length. @throws WireError */
export function parseEpmdRequest(bytes: Buffer): EpmdRequest {
  switch (bytes[0]) {
    case epmdCodes.alive:
      return { kind: 'alive', entry: parseEntry(bytes.subarray(1)) };
    case epmdCodes.portPlease:
      return { kind: 'portPlease', name: parseName(bytes.subarray(1)) };
    case epmdCodes.names:
      return { kind: 'names' };
    case epmdCodes.dump:
      return { kind: 'dump' };
    case epmdCodes.kill:
      return { kind: 'kill' };
    case epmdCodes.stop:
      return { kind: 'stop' };
    default:
      throw new WireError('unknown EPMD request');
  }
}

/** ALIVE2_REQ with its length. */
export function aliveRequest(entry: NodeEntry): Buffer {
  return request(Buffer.concat([Buffer.of(epmdCodes.alive), entryBytes(entry)]));
}

/** PORT_PLEASE2_REQ with its length. */
export function portPleaseRequest(name: string): Buffer {
  return request(Buffer.concat([Buffer.of(epmdCodes.portPlease), Buffer.from(name)]));
}

/** NAMES_REQ with its length. */
export function namesRequest(): Buffer {
  return request(Buffer.of(epmdCodes.names));
}

/** ALIVE2_X_RESP for a node with version 6, ALIVE2_RESP for an older one. `creation` null: rejected. */
export function aliveReply(creation: number | null, highest: number): Buffer {
  const extended = highest >= distributionVersion;
  const bytes = Buffer.alloc(extended ? 6 : 4);
  bytes[0] = extended ? epmdCodes.aliveReplyExtended : epmdCodes.aliveReply;
  bytes[1] = creation === null ? 1 : 0;
  if (extended) bytes.writeUInt32BE(creation ?? 0, 2);
  // Nodes before version 6 have only two bits.
  else bytes.writeUInt16BE(((creation ?? 0) % 3) + 1, 2);
  return bytes;
}

/** Parses a response to ALIVE2_REQ; undefined if it is incomplete. @throws WireError */
export function parseAliveReply(bytes: Buffer): { creation: number | null } | undefined {
  const [code, result] = bytes;
  if (code === undefined) return undefined;
  if (code !== epmdCodes.aliveReplyExtended && code !== epmdCodes.aliveReply) throw new WireError('invalid response of EPMD');
  const size = code === epmdCodes.aliveReplyExtended ? 6 : 4;
  if (bytes.length < size) return undefined;
  if (result !== 0) return { creation: null };
  return { creation: size === 6 ? bytes.readUInt32BE(2) : bytes.readUInt16BE(2) };
}

/** PORT2_RESP. */
export function portReply(entry: NodeEntry | undefined): Buffer {
  if (!entry) return Buffer.of(epmdCodes.portReply, 1);
  return Buffer.concat([Buffer.of(epmdCodes.portReply, 0), entryBytes(entry)]);
}

/** Parses a complete response to PORT_PLEASE2_REQ; undefined if the node is unknown. @throws WireError */
export function parsePortReply(bytes: Buffer): NodeEntry | undefined {
  if (bytes[0] !== epmdCodes.portReply || bytes.length < 2) throw new WireError('invalid response of EPMD');
  return bytes[1] === 0 ? parseEntry(bytes.subarray(2)) : undefined;
}

/** Response to NAMES_REQ. `port`: the port of EPMD. */
export function namesReply(port: number, entries: Iterable<NodeEntry>): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(port);
  const lines = Array.from(entries, (entry) => `name ${entry.name} at port ${entry.port}\n`);
  return Buffer.concat([head, Buffer.from(lines.join(''))]);
}

/** Parses a complete response to NAMES_REQ. @throws WireError */
export function parseNamesReply(bytes: Buffer): { name: string; port: number }[] {
  if (bytes.length < 4) throw new WireError('invalid response of EPMD');
  const lines = bytes.toString('utf8', 4).matchAll(/^name (\S+) at port (\d{1,5})$/gm);
  return Array.from(lines, ([, name = '', port]) => ({ name, port: Number(port) }));
}

function request(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function entryBytes(entry: NodeEntry): Buffer {
  const name = Buffer.from(entry.name);
  const head = Buffer.alloc(10);
  head.writeUInt16BE(entry.port, 0);
  head[2] = entry.hidden ? hiddenNode : visibleNode;
  // The fourth byte is 0: TCP over IPv4 or IPv6.
  head.writeUInt16BE(entry.highest, 4);
  head.writeUInt16BE(entry.lowest, 6);
  head.writeUInt16BE(name.length, 8);
  const extra = Buffer.alloc(2);
  extra.writeUInt16BE(entry.extra.length);
  return Buffer.concat([head, name, extra, entry.extra]);
}

function parseEntry(bytes: Buffer): NodeEntry {
  if (bytes.length < 12) throw new WireError('EPMD entry is too short');
  const nameEnd = 10 + bytes.readUInt16BE(8);
  if (nameEnd + 2 > bytes.length) throw new WireError('EPMD entry is too short');
  const extraEnd = nameEnd + 2 + bytes.readUInt16BE(nameEnd);
  if (extraEnd > bytes.length) throw new WireError('EPMD entry is too short');
  const port = bytes.readUInt16BE(0);
  if (port === 0) throw new WireError('EPMD entry without port');
  return {
    name: parseName(bytes.subarray(10, nameEnd)),
    port,
    hidden: bytes[2] === hiddenNode,
    highest: bytes.readUInt16BE(4),
    lowest: bytes.readUInt16BE(6),
    extra: Buffer.from(bytes.subarray(nameEnd + 2, extraEnd)),
  };
}

/** A name must not contain characters that break the lines of NAMES_RESP. */
function parseName(bytes: Buffer): string {
  if (bytes.length === 0 || bytes.length > maxName || !isUtf8(bytes)) throw new WireError('invalid node name');
  const name = bytes.toString('utf8');
  if (/[\s@\p{Cc}]/u.test(name)) throw new WireError('invalid node name');
  return name;
}
