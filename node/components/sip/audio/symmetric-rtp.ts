// Where the far side of a call is: where SDP says, until its packets come from elsewhere (symmetric RTP, RFC 4961; RFC 7362 on what to beware of).
import { isIP, isIPv6 } from 'node:net';
import { isPrivateAddress } from '../../../common/private-addresses.ts';

export type RtpAddress = { ip: string; port: number };

/** How near a source is to what was agreed: only a nearer one takes the place of another. */
const ranks = { elsewhere: 1, sameHost: 2, asAgreed: 3 } as const;
/** Packets of one source in a row that make it the far side, where it is not the one that was agreed. */
const probation = 3;
/** Milliseconds of silence after which the far side may go on from another port of its host. */
const rebinding = 2000;

type Latched = { address: RtpAddress; rank: number; heard: number };

export class SymmetricRtpAddress {
  readonly #agreed: RtpAddress;
  readonly #allowPrivate: boolean;
  #latched: Latched | undefined;
  #candidate: { address: RtpAddress; ssrc: number; packets: number } | undefined;

  constructor(agreed: RtpAddress, allowPrivate: boolean) {
    this.#agreed = agreed;
    this.#allowPrivate = allowPrivate;
  }

  /** Where to send; undefined where neither SDP nor a packet names anybody who may be sent to. */
  get target(): RtpAddress | undefined {
    const rtpAddress = this.#latched?.address ?? this.#agreed;
    return isSendable(rtpAddress) && (this.#allowPrivate || !isPrivateAddress(rtpAddress.ip)) ? rtpAddress : undefined;
  }

  /**
   * Whether a valid packet from there is of this call. `trusted`: it shows by itself that it is (SRTP); `now`: milliseconds of any clock that
   * does not go back.
   */
  accepts(from: RtpAddress, ssrc: number, trusted: boolean, now: number): boolean {
    const latched = this.#latched;
    if (latched && isSame(latched.address, from)) {
      latched.heard = now;
      return true;
    }
    const rank = isSame(from, this.#agreed) ? ranks.asAgreed : from.ip === this.#agreed.ip ? ranks.sameHost : ranks.elsewhere;
    if (!trusted && !this.#mayFollow(rank, now)) return false;
    if (!trusted && rank !== ranks.asAgreed && !this.#isProven(from, ssrc)) return false;
    this.#latched = { address: { ip: from.ip, port: from.port }, rank, heard: now };
    this.#candidate = undefined;
    return true;
  }

  #mayFollow(rank: number, now: number): boolean {
    const latched = this.#latched;
    if (!latched || rank > latched.rank) return true;
    return rank === ranks.sameHost && now - latched.heard >= rebinding;
  }

  #isProven(from: RtpAddress, ssrc: number): boolean {
    const known = this.#candidate;
    if (!known || known.ssrc !== ssrc || !isSame(known.address, from)) {
      this.#candidate = { address: { ip: from.ip, port: from.port }, ssrc, packets: 1 };
      return false;
    }
    known.packets += 1;
    return known.packets >= probation;
  }
}

function isSame(one: RtpAddress, other: RtpAddress): boolean {
  return one.ip === other.ip && one.port === other.port;
}

/** Not of those that mean nobody, as old phones say for hold, or many. */
function isSendable({ ip, port }: RtpAddress): boolean {
  if (isIP(ip) === 0 || port < 1 || port > 65_535) return false;
  if (isIPv6(ip)) return ip !== '::' && !/^ff/i.test(ip);
  const first = Number(ip.split('.')[0]);
  return first !== 0 && first < 224;
}
