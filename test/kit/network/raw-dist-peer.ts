// Raw peer of the distribution handshake, which can send valid and invalid packets.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { ownFlags } from '../../../node/cluster/erlang/handshake/flags.ts';
import {
  ackPacket,
  challengePacket,
  cookieDigest,
  namePacket,
  parseChallengePacket,
  parseReply,
  replyPacket,
  statusPacket,
} from '../../../node/cluster/erlang/handshake/handshake-packets.ts';
import { PacketReader } from '../../../node/cluster/erlang/packet-reader.ts';
import { emits, eventually } from '../eventually.ts';
import { testCookie } from './dist-nodes.ts';

export class RawDistPeer {
  readonly socket: Socket;
  readonly #reader = new PacketReader(2, 10_000);
  #closed = false;

  /** Uses an open socket. */
  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => this.#reader.push(chunk));
    socket.on('close', () => {
      this.#closed = true;
    });
    socket.on('error', () => {});
  }

  /** Destroyed with the test, if one is given. */
  static async dial(t: TestContext | undefined, port: number): Promise<RawDistPeer> {
    const socket = connect(port, '127.0.0.1');
    t?.after(() => socket.destroy());
    await once(socket, 'connect');
    return new RawDistPeer(socket);
  }

  write(packet: Buffer): void {
    this.socket.write(Buffer.concat([Buffer.of(packet.length >> 8, packet.length), packet]));
  }

  /** The next packet; undefined after remote has closed. */
  async read(): Promise<Buffer | undefined> {
    const next = () => {
      const packet = this.#reader.next();
      return (packet || this.#closed) && { packet };
    };
    return (await eventually('a packet', next, { wakes: emits(this.socket, 'data', 'close') })).packet;
  }

  sayName(name: string, flags = ownFlags): void {
    this.write(namePacket({ flags, creation: 7, name }));
  }

  /** Completes the handshake and stays connected. */
  async shakeHands(name: string): Promise<void> {
    this.sayName(name);
    assert.equal(String(await this.read()), 'sok');
    await this.answerChallenge();
    assert.equal((await this.read())?.length, 17);
  }

  /** Proves that it has the cookie, after the status. */
  async answerChallenge(): Promise<void> {
    const { challenge } = parseChallengePacket((await this.read()) ?? Buffer.alloc(0));
    this.write(replyPacket({ challenge: 1, digest: cookieDigest(testCookie, challenge) }));
  }

  /** Accepts a dial of the node as an Erlang node does, after its name packet. */
  async acceptHandshake(name: string): Promise<void> {
    this.write(statusPacket('ok'));
    this.write(challengePacket({ flags: ownFlags, creation: 7, name, challenge: 1 }));
    const { challenge } = parseReply((await this.read()) ?? Buffer.alloc(0));
    this.write(ackPacket(cookieDigest(testCookie, challenge)));
  }
}
