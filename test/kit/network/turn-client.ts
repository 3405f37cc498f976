// Minimal TURN client: requests an allocation over UDP (RFC 8656, section 7) with long-term credentials.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import type { TestContext } from 'node:test';
import { attribute, header, transact } from '../../../operator/smoke/stun.ts';

const allocate = 0x0003;
const success = 0x0103;
const types = { username: 0x0006, integrity: 0x0008, error: 0x0009, realm: 0x0014, nonce: 0x0015, transport: 0x0019 };
/** REQUESTED-TRANSPORT: UDP. */
const udp = Buffer.from([17, 0, 0, 0]);

/** The allocation lasts until the end of the test. @returns 200, or the error code */
export async function allocateRelay(
  t: TestContext,
  port: number,
  { username, credential }: { username: string; credential: string },
): Promise<number> {
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const transactionOf = (message: Buffer) => message.subarray(8, 20);
  const ask = async (request: Buffer) => {
    const isResponse = (message: Buffer) => transactionOf(message).equals(transactionOf(request));
    return parse(await transact(socket, request, { ip: '127.0.0.1', port }, isResponse, AbortSignal.timeout(30_000)));
  };
  const { realm, nonce } = await ask(encode([attribute(types.transport, udp)]));
  const key = createHash('md5').update(`${username}:${realm}:${credential}`).digest();
  const attributes = [
    attribute(types.transport, udp),
    attribute(types.username, Buffer.from(username)),
    attribute(types.realm, realm),
    attribute(types.nonce, nonce),
  ];
  return (await ask(encode(attributes, key))).status;
}

function encode(attributes: readonly Buffer[], key?: Buffer): Buffer {
  const body = Buffer.concat(attributes);
  const transaction = randomBytes(12);
  if (!key) return Buffer.concat([header(allocate, body.length, transaction), body]);
  // The length includes the attribute that is computed from it.
  const signed = Buffer.concat([header(allocate, body.length + 24, transaction), body]);
  return Buffer.concat([signed, attribute(types.integrity, createHmac('sha1', key).update(signed).digest())]);
}

function parse(answer: Buffer): { status: number; realm: Buffer; nonce: Buffer } {
  const found = new Map<number, Buffer>();
  for (let at = 20; at + 4 <= answer.length; ) {
    const length = answer.readUInt16BE(at + 2);
    found.set(answer.readUInt16BE(at), answer.subarray(at + 4, at + 4 + length));
    at += 4 + Math.ceil(length / 4) * 4;
  }
  const error = found.get(types.error);
  const status = answer.readUInt16BE(0) === success ? 200 : (error?.[2] ?? 0) * 100 + (error?.[3] ?? 0);
  const empty = Buffer.alloc(0);
  return { status, realm: found.get(types.realm) ?? empty, nonce: found.get(types.nonce) ?? empty };
}
