// The distribution handshake, version 6, from both sides (Erlang/OTP, "Distribution Protocol", "Distribution Handshake").
import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { areSufficient, expandFlags, ownFlags } from './flags.ts';
import {
  ackPacket,
  type ChallengePacket,
  challengePacket,
  cookieDigest,
  isDigest,
  type NamePacket,
  namePacket,
  parseAck,
  parseChallengePacket,
  parseNamePacket,
  parseReply,
  parseStatus,
  replyPacket,
  type Status,
  statusPacket,
} from './handshake-packets.ts';
import type { HandshakeSocket } from './handshake-socket.ts';
import { WireError } from './wire-error.ts';

export type Identity = { name: string; creation: number; cookie: string };
export type Handshaken = { peer: string; creation: number; flags: bigint; socket: Socket; rest: Buffer };

export type RefusalReason =
  /** The cookies differ. */
  | 'cookie'
  /** It closed instead of proving that it knows the cookie: so does an Erlang node to which we have not proven it. */
  | 'unanswered'
  /** It lacks what we need. */
  | 'flags'
  /** Both dial at once and the other connection is the one that counts. */
  | 'simultaneous'
  /** One side does not want the other at all. */
  | 'not_allowed'
  /** It asked whether our connection lives, and it does not. */
  | 'obsolete';

/** A handshake that ended in order, with a no. */
export class HandshakeRefused extends Error {
  readonly reason: RefusalReason;
  readonly peer: string;

  constructor(reason: RefusalReason, peer: string) {
    super(`the handshake was refused: ${reason}`);
    this.name = 'HandshakeRefused';
    this.reason = reason;
    this.peer = peer;
  }
}

export type AcceptDecisions = {
  /** What a node is told that names itself so: nothing is proven yet. */
  status: (peer: string) => Exclude<Status, 'true' | 'false'>;
  /** Whether a node that has proven to know the cookie gets the connection. */
  confirm: (peer: string) => boolean;
};

/** The side that was dialled. @throws HandshakeRefused WireError Error */
export async function acceptHandshake(channel: HandshakeSocket, own: Identity, decisions: AcceptDecisions): Promise<Handshaken> {
  const theirs = parseNamePacket(await channel.read());
  const peer = theirs.name;
  const sufficient = areSufficient(theirs.flags);
  const status = sufficient ? decisions.status(peer) : 'not_allowed';
  channel.write(statusPacket(status));
  if (status === 'not_allowed') throw new HandshakeRefused(sufficient ? 'not_allowed' : 'flags', peer);
  if (status === 'nok') throw new HandshakeRefused('simultaneous', peer);
  if (status === 'alive' && parseStatus(await channel.read()) !== 'true') throw new HandshakeRefused('obsolete', peer);
  const challenge = randomInt(0x1_0000_0000);
  channel.write(challengePacket({ flags: ownFlags, creation: own.creation, name: own.name, challenge }));
  const reply = parseReply(await channel.read());
  if (!isDigest(reply.digest, own.cookie, challenge)) {
    // An answer that proves nothing makes the other side log what is wrong, where silence would not.
    channel.write(ackPacket(Buffer.alloc(16)));
    throw new HandshakeRefused('cookie', peer);
  }
  if (!decisions.confirm(peer)) throw new HandshakeRefused('simultaneous', peer);
  channel.write(ackPacket(cookieDigest(own.cookie, reply.challenge)));
  return finished(channel, theirs);
}

/** The side that dials. `wanted`: whether the connection is still wanted when the other side asks. @throws HandshakeRefused WireError Error */
export async function dialHandshake(channel: HandshakeSocket, own: Identity, peer: string, wanted: () => boolean): Promise<Handshaken> {
  channel.write(namePacket({ flags: ownFlags, creation: own.creation, name: own.name }));
  await readStatus(channel, peer, wanted);
  const theirs: ChallengePacket = parseChallengePacket(await channel.read());
  if (theirs.name !== peer) throw new WireError('another node answered than the one that was dialled');
  if (!areSufficient(theirs.flags)) throw new HandshakeRefused('flags', peer);
  const challenge = randomInt(0x1_0000_0000);
  channel.write(replyPacket({ challenge, digest: cookieDigest(own.cookie, theirs.challenge) }));
  const ack = parseAck(await readProof(channel, peer));
  if (!isDigest(ack, own.cookie, challenge)) throw new HandshakeRefused('cookie', peer);
  return finished(channel, theirs);
}

async function readProof(channel: HandshakeSocket, peer: string): Promise<Buffer> {
  try {
    return await channel.read();
  } catch (error) {
    throw error instanceof WireError || error instanceof HandshakeRefused ? error : new HandshakeRefused('unanswered', peer);
  }
}

async function readStatus(channel: HandshakeSocket, peer: string, wanted: () => boolean): Promise<void> {
  const status = parseStatus(await channel.read());
  if (status === 'nok') throw new HandshakeRefused('simultaneous', peer);
  if (status === 'not_allowed') throw new HandshakeRefused('not_allowed', peer);
  if (status !== 'alive') return;
  const answer = wanted();
  channel.write(statusPacket(answer ? 'true' : 'false'));
  if (!answer) throw new HandshakeRefused('obsolete', peer);
}

function finished(channel: HandshakeSocket, { name, creation, flags }: NamePacket): Handshaken {
  return { peer: name, creation, flags: expandFlags(flags) & ownFlags, ...channel.release() };
}
