// What the far side of a call sends: checked, deciphered, and told apart into voice, digits and silence.
import { isRtcp, parseRtp, type RtpPacket } from '../../rtp/rtp-reader.ts';
import { AudioReceiver } from './audio-receiver.ts';
import { callCodecFacts } from './call-codecs.ts';
import type { NegotiatedMedia, SessionListener } from './session.ts';
import { SrtpReceiver } from './srtp.ts';
import { type RtpAddress, SymmetricRtpAddress } from './symmetric-rtp.ts';
import { DigitReceiver } from './telephone-event.ts';

/** Bytes of a datagram that is looked at. */
const maxPacket = 1500;
/** Of comfort noise (RFC 3389), agreed or not. */
const comfortNoise = 13;
/** Packets of another source in a row after which it is the far side's voice. */
const newSource = 3;

/** Of one source (SSRC). */
type Stream = { ssrc: number; voice: AudioReceiver; digits: DigitReceiver };

export type FarReceiverOptions = {
  listener: SessionListener;
  /** Milliseconds without a packet after which the far side is taken for gone; 0: never. */
  silence: number;
  /** Whether what is heard may be answered to a private address. */
  allowPrivate: boolean;
};

/** Times are milliseconds on the line of read(). */
export class CallRtpReceiver {
  readonly #options: FarReceiverOptions;
  #agreed: NegotiatedMedia | undefined;
  #address: SymmetricRtpAddress | undefined;
  #srtp: { key: string; receiver: SrtpReceiver } | undefined;
  #stream: Stream | undefined;
  #other: { ssrc: number; packets: number } | undefined;
  /** When something came last, or was first expected. */
  #heard = 0;
  #told = false;

  constructor(options: FarReceiverOptions) {
    this.#options = options;
  }

  /** Where to send. */
  get target(): RtpAddress | undefined {
    return this.#address?.target;
  }

  /** @throws RangeError for keys that are none */
  agree(negotiatedMedia: NegotiatedMedia, now: number): void {
    const before = this.#agreed;
    const keys = negotiatedMedia.keys;
    // One receiver per key: how often its sequence numbers wrapped around is not known anew.
    if (keys && this.#srtp?.key !== keys.remote) this.#srtp = { key: keys.remote, receiver: new SrtpReceiver(keys.remote) };
    if (!before || !isSame(before.remote, negotiatedMedia.remote) || !isSame(before.keys, keys))
      this.#address = new SymmetricRtpAddress(negotiatedMedia.remote, this.#options.allowPrivate);
    if (before && (before.codec !== negotiatedMedia.codec || before.payloadType !== negotiatedMedia.payloadType)) this.#endStream();
    this.#agreed = negotiatedMedia;
    this.#heard = now;
    this.#told = false;
  }

  push(datagram: Buffer, from: RtpAddress, now: number): void {
    const negotiatedMedia = this.#agreed;
    if (!negotiatedMedia || datagram.length > maxPacket || isRtcp(datagram)) return;
    const plain = negotiatedMedia.keys ? this.#srtp?.receiver.unprotect(datagram, negotiatedMedia.keys.suite) : datagram;
    const packet = plain && parseRtp(plain);
    const kind = packet && kindOf(packet.payloadType, negotiatedMedia);
    if (!packet || !kind || !this.#address?.accepts(from, packet.ssrc, negotiatedMedia.keys !== undefined, now)) return;
    this.#heard = now;
    this.#told = false;
    if (!isReceiving(negotiatedMedia)) return;
    const stream = this.#streamOf(packet, negotiatedMedia);
    if (!stream) return;
    if (kind === 'digit') stream.digits.push(packet, now);
    stream.voice.push(packet, now, { silent: kind !== 'voice' });
  }

  /** Fills the block with what is heard from sample `from` on. @returns false where that is nothing */
  read(from: number, block: Float32Array): boolean {
    return this.#stream?.voice.read(from, block) ?? false;
  }

  /** To be called from time to time. */
  tick(now: number): void {
    this.#stream?.digits.tick(now);
    const { silence, listener } = this.#options;
    if (!this.#agreed || !isReceiving(this.#agreed)) this.#heard = now;
    if (silence === 0 || this.#told || now - this.#heard < silence) return;
    this.#told = true;
    listener.onSilent();
  }

  /** Idempotent. */
  close(): void {
    this.#agreed = undefined;
    this.#endStream();
  }

  #streamOf({ ssrc }: RtpPacket, { codec, dtmfClockRate }: NegotiatedMedia): Stream | undefined {
    if (this.#stream?.ssrc === ssrc) {
      this.#other = undefined;
      return this.#stream;
    }
    if (this.#stream) {
      const packets = this.#other?.ssrc === ssrc ? this.#other.packets + 1 : 1;
      this.#other = { ssrc, packets };
      if (packets < newSource) return undefined;
    }
    this.#endStream();
    const clockRate = dtmfClockRate ?? callCodecFacts[codec].clockRate;
    const { onDigit } = this.#options.listener;
    this.#stream = { ssrc, voice: new AudioReceiver(codec), digits: new DigitReceiver({ clockRate, onDigit }) };
    return this.#stream;
  }

  #endStream(): void {
    this.#stream?.voice.close();
    this.#stream = undefined;
    this.#other = undefined;
  }
}

function kindOf(payloadType: number, negotiatedMedia: NegotiatedMedia): 'voice' | 'digit' | 'noise' | undefined {
  if (payloadType === negotiatedMedia.payloadType) return 'voice';
  if (payloadType === negotiatedMedia.dtmfPayloadType) return 'digit';
  return payloadType === negotiatedMedia.comfortNoisePayloadType || payloadType === comfortNoise ? 'noise' : undefined;
}

function isReceiving({ direction }: NegotiatedMedia): boolean {
  return direction === 'sendrecv' || direction === 'recvonly';
}

function isSame(one: object | undefined, other: object | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
