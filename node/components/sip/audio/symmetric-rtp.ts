// Remote RTP address of a call: the address in SDP, until packets arrive from another one (symmetric RTP, RFC 4961; risks in RFC 7362).
import { isIP, isIPv6 } from 'node:net';
import { isPrivateAddress } from '../../../common/private-addresses.ts';

export type RtpAddress = { ip: string; port: number };

/** Trust in a source: only a higher rank replaces the current source. */
const ranks = { elsewhere: 1, sameHost: 2, asAgreed: 3 } as const;
/** Consecutive packets of one source that make it the remote address, if it is not the negotiated one. */
const probation = 3;
/** Milliseconds of silence after which packets from another port of the remote host are accepted. */
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

  /** Address to send to; undefined if neither SDP nor a packet has a valid one. */
  get target(): RtpAddress | undefined {
    const rtpAddress = this.#latched?.address ?? this.#agreed;
    return isSendable(rtpAddress) && (this.#allowPrivate || !isPrivateAddress(rtpAddress.ip)) ? rtpAddress : undefined;
  }

  /**
   * True if a valid packet from this address belongs to the call. `trusted`: it is authenticated (SRTP); `now`: milliseconds of any
   * monotonic clock.
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

/** Excludes unspecified addresses, which old phones use for hold, and multicast. */
function isSendable({ ip, port }: RtpAddress): boolean {
  if (isIP(ip) === 0 || port < 1 || port > 65_535) return false;
  if (isIPv6(ip)) return ip !== '::' && !/^ff/i.test(ip);
  const first = Number(ip.split('.')[0]);
  return first !== 0 && first < 224;
}
