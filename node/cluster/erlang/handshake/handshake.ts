// Distribution handshake, version 6, for both sides (Erlang/OTP, "Distribution Protocol", "Distribution Handshake").
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

/** `dialsErlang`: sends the Erlang cookie proof to dialed nodes that support no other. */
export type Identity = { name: string; creation: number; cookie: string; dialsErlang: boolean };
/** `bound`: both sides used the cookie proof that is bound to this connection. */
export type HandshakeResult = { peer: string; creation: number; flags: bigint; bound: boolean; socket: Socket; rest: Buffer };

export type HandshakeErrorReason =
  /** The cookies differ. */
  | 'cookie'
  /** It closed the connection instead of sending its cookie proof. Erlang nodes also do that if our proof is wrong. */
  | 'unanswered'
  /** It only supports the Erlang cookie proof, which it could reuse at other nodes. */
  | 'unbound'
  /** A mandatory flag is missing. */
  | 'flags'
  /** Both nodes dial at the same time, and the other connection is kept. */
  | 'simultaneous'
  /** One side rejects the other node. */
  | 'not_allowed'
  /** It asked whether our connection is alive, and it is not. */
  | 'obsolete';

/** The handshake ended properly with a rejection. */
export class HandshakeError extends Error {
  readonly reason: HandshakeErrorReason;
  readonly peer: string;

  constructor(reason: HandshakeErrorReason, peer: string) {
    super(`handshake rejected: ${reason}`);
    this.name = 'HandshakeError';
    this.reason = reason;
    this.peer = peer;
  }
}

export type AcceptPolicy = {
  /** Status sent to a node that claims this name, before any proof. */
  status: (peer: string) => Exclude<Status, 'true' | 'false'>;
  /** Whether a node with a valid cookie proof gets the connection; may take as long as a handshake. */
  confirm: (peer: string) => Promise<boolean>;
};

/** Handshake of the accepting side. @throws HandshakeError WireError Error */
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
    // An invalid proof makes the remote node log the reason; silence would not.
    channel.write(ackPacket(Buffer.alloc(16)));
    throw new HandshakeError('cookie', peer);
  }
  if (!(await decisions.confirm(peer))) throw new HandshakeError('simultaneous', peer);
  channel.throwIfClosed();
  channel.write(ackPacket(proofs('acceptor', reply.challenge)));
  return finished(channel, theirs);
}

/**
 * Handshake of the dialing side. `wanted`: returns whether the connection is still needed when the remote node asks. @throws
 * HandshakeError WireError Error
 */
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
  if (theirs.name !== peer) throw new WireError('a different node responded than the one dialed');
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

/** Proofs that each side must present. In Erlang they are the same for both; without a transcript the Erlang proof is used. */
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
