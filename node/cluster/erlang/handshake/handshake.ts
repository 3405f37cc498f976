// The distribution handshake, version 6, from both sides (Erlang/OTP, "Distribution Protocol", "Distribution Handshake").
import { randomBytes, randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { WireError } from '../wire-error.ts';
import { expandFlags, hasMandatoryFlags, ownFlags } from './flags.ts';
import {
  ackPacket,
  boundProof,
  type ChallengePacket,
  challengePacket,
  cookieDigest,
  isSame,
  type NamePacket,
  namePacket,
  nonceBytes,
  parseAck,
  parseChallengePacket,
  parseNamePacket,
  parseReply,
  parseStatus,
  replyPacket,
  type Status,
  statusPacket,
  type Transcript,
} from './handshake-packets.ts';
import type { HandshakeSocket } from './handshake-socket.ts';

/** `dialsErlang`: whether it gives Erlang's proof of the cookie to nodes that it dials and that know no other. */
export type Identity = { name: string; creation: number; cookie: string; dialsErlang: boolean };
/** `bound`: both sides gave the proof that is good for this connection only. */
export type HandshakeResult = { peer: string; creation: number; flags: bigint; bound: boolean; socket: Socket; rest: Buffer };

export type HandshakeErrorReason =
  /** The cookies differ. */
  | 'cookie'
  /** It closed instead of proving that it knows the cookie: so does an Erlang node to which we have not proven it. */
  | 'unanswered'
  /** It knows Erlang's proof only, which it could show to others as its own. */
  | 'unbound'
  /** It lacks what we need. */
  | 'flags'
  /** Both dial at once and the other connection is the one that counts. */
  | 'simultaneous'
  /** One side does not want the other at all. */
  | 'not_allowed'
  /** It asked whether our connection lives, and it does not. */
  | 'obsolete';

/** A handshake that ended in order, with a no. */
export class HandshakeError extends Error {
  readonly reason: HandshakeErrorReason;
  readonly peer: string;

  constructor(reason: HandshakeErrorReason, peer: string) {
    super(`the handshake was refused: ${reason}`);
    this.name = 'HandshakeError';
    this.reason = reason;
    this.peer = peer;
  }
}

export type AcceptPolicy = {
  /** What a node is told that names itself so: nothing is proven yet. */
  status: (peer: string) => Exclude<Status, 'true' | 'false'>;
  /** Whether a node that has proven to know the cookie gets the connection. */
  confirm: (peer: string) => boolean;
};

/** The side that was dialled. @throws HandshakeError WireError Error */
export async function acceptHandshake(channel: HandshakeSocket, own: Identity, decisions: AcceptPolicy): Promise<HandshakeResult> {
  const hello = await channel.read();
  const theirs = parseNamePacket(hello);
  const peer = theirs.name;
  const sufficient = hasMandatoryFlags(theirs.flags);
  const status = sufficient ? decisions.status(peer) : 'not_allowed';
  channel.write(statusPacket(status));
  if (status === 'not_allowed') throw new HandshakeError(sufficient ? 'not_allowed' : 'flags', peer);
  if (status === 'nok') throw new HandshakeError('simultaneous', peer);
  if (status === 'alive' && parseStatus(await channel.read()) !== 'true') throw new HandshakeError('obsolete', peer);
  const challenge = newChallenge();
  const nonce = theirs.nonce && randomBytes(nonceBytes);
  const answer = challengePacket({ flags: ownFlags, creation: own.creation, name: own.name, challenge, nonce });
  channel.write(answer);
  const proofs = proofsOf(own.cookie, nonce && { hello, answer, binding: channel.binding });
  const reply = parseReply(await channel.read());
  if (!isSame(reply.digest, proofs('dialler', challenge))) {
    // An answer that proves nothing makes the other side log what is wrong, where silence would not.
    channel.write(ackPacket(Buffer.alloc(16)));
    throw new HandshakeError('cookie', peer);
  }
  if (!decisions.confirm(peer)) throw new HandshakeError('simultaneous', peer);
  channel.write(ackPacket(proofs('acceptor', reply.challenge)));
  return finished(channel, theirs);
}

/** The side that dials. `wanted`: whether the connection is still wanted when the other side asks. @throws HandshakeError WireError Error */
export async function dialHandshake(
  channel: HandshakeSocket,
  own: Identity,
  peer: string,
  wanted: () => boolean,
): Promise<HandshakeResult> {
  const hello = namePacket({ flags: ownFlags, creation: own.creation, name: own.name, nonce: randomBytes(nonceBytes) });
  channel.write(hello);
  await readStatus(channel, peer, wanted);
  const answer = await channel.read();
  const theirs: ChallengePacket = parseChallengePacket(answer);
  if (theirs.name !== peer) throw new WireError('another node answered than the one that was dialled');
  if (!hasMandatoryFlags(theirs.flags)) throw new HandshakeError('flags', peer);
  if (!theirs.nonce && !own.dialsErlang) throw new HandshakeError('unbound', peer);
  const challenge = newChallenge();
  const proofs = proofsOf(own.cookie, theirs.nonce && { hello, answer, binding: channel.binding });
  channel.write(replyPacket({ challenge, digest: proofs('dialler', theirs.challenge) }));
  const ack = parseAck(await readProof(channel, peer));
  if (!isSame(ack, proofs('acceptor', challenge))) throw new HandshakeError('cookie', peer);
  return finished(channel, theirs);
}

function newChallenge(): number {
  return randomInt(0x1_0000_0000);
}

/** What each side must show. Erlang's is the same for both; without a transcript it is the one. */
function proofsOf(cookie: string, transcript: Transcript | undefined) {
  return (side: 'dialler' | 'acceptor', challenge: number): Buffer =>
    transcript ? boundProof(cookie, side, transcript, challenge) : cookieDigest(cookie, challenge);
}

async function readProof(channel: HandshakeSocket, peer: string): Promise<Buffer> {
  try {
    return await channel.read();
  } catch (error) {
    throw error instanceof WireError || error instanceof HandshakeError ? error : new HandshakeError('unanswered', peer);
  }
}

async function readStatus(channel: HandshakeSocket, peer: string, wanted: () => boolean): Promise<void> {
  const status = parseStatus(await channel.read());
  if (status === 'nok') throw new HandshakeError('simultaneous', peer);
  if (status === 'not_allowed') throw new HandshakeError('not_allowed', peer);
  if (status !== 'alive') return;
  const answer = wanted();
  channel.write(statusPacket(answer ? 'true' : 'false'));
  if (!answer) throw new HandshakeError('obsolete', peer);
}

function finished(channel: HandshakeSocket, { name, creation, flags, nonce }: NamePacket): HandshakeResult {
  return { peer: name, creation, flags: expandFlags(flags) & ownFlags, bound: nonce !== undefined, ...channel.release() };
}
