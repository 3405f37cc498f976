// RTP receiver of a call: validates and decrypts packets, and separates audio, digits and silence.
import { isRtcp, parseRtp, type RtpPacket } from '../../rtp/rtp-reader.ts';
import { AudioReceiver } from './audio-receiver.ts';
import { callCodecFacts } from './call-codecs.ts';
import type { NegotiatedMedia, SessionListener } from './session.ts';
import { SrtpReceiver } from './srtp.ts';
import { type RtpAddress, SymmetricRtpAddress } from './symmetric-rtp.ts';
import { DigitReceiver } from './telephone-event.ts';

/** Maximum bytes of an accepted datagram. */
const maxPacket = 1500;
/** Payload type of comfort noise (RFC 3389), negotiated or not. */
const comfortNoise = 13;
/** Consecutive packets of another source after which it replaces the current one. */
const newSource = 3;

/** State of one source (SSRC). */
type Stream = { ssrc: number; voice: AudioReceiver; digits: DigitReceiver };

export type FarReceiverOptions = {
  listener: SessionListener;
  /** Milliseconds without a packet after which the remote party counts as lost; 0: never. */
  silence: number;
  /** True if RTP may be sent to a private address that packets came from. */
  allowPrivate: boolean;
};

/** Times are milliseconds on the time line of read(). */
export class CallRtpReceiver {
  readonly #options: FarReceiverOptions;
  #agreed: NegotiatedMedia | undefined;
  #address: SymmetricRtpAddress | undefined;
  #srtp: { key: string; receiver: SrtpReceiver } | undefined;
  #stream: Stream | undefined;
  #other: { ssrc: number; packets: number } | undefined;
  /** Arrival of the last packet, or start of waiting. */
  #heard = 0;
  #reported = false;

  constructor(options: FarReceiverOptions) {
    this.#options = options;
  }

  /** Address to send to. */
  get target(): RtpAddress | undefined {
    return this.#address?.target;
  }

  /** @throws RangeError for invalid keys */
  agree(negotiatedMedia: NegotiatedMedia, now: number): void {
    const before = this.#agreed;
    const keys = negotiatedMedia.keys;
    // One receiver per key, because a new one would not have the rollover counter.
    if (keys && this.#srtp?.key !== keys.remote) this.#srtp = { key: keys.remote, receiver: new SrtpReceiver(keys.remote) };
    if (!before || !isSame(before.remote, negotiatedMedia.remote) || !isSame(before.keys, keys))
      this.#address = new SymmetricRtpAddress(negotiatedMedia.remote, this.#options.allowPrivate);
    if (before && (before.codec !== negotiatedMedia.codec || before.payloadType !== negotiatedMedia.payloadType)) this.#endStream();
    this.#agreed = negotiatedMedia;
    this.#heard = now;
    this.#reported = false;
  }

  push(datagram: Buffer, from: RtpAddress, now: number): void {
    const negotiatedMedia = this.#agreed;
    if (!negotiatedMedia || datagram.length > maxPacket || isRtcp(datagram)) return;
    const plain = negotiatedMedia.keys ? this.#srtp?.receiver.unprotect(datagram, negotiatedMedia.keys.suite) : datagram;
    const packet = plain && parseRtp(plain);
    const kind = packet && kindOf(packet.payloadType, negotiatedMedia);
    if (!packet || !kind || !this.#address?.accepts(from, packet.ssrc, negotiatedMedia.keys !== undefined, now)) return;
    this.#heard = now;
    this.#reported = false;
    if (!isReceiving(negotiatedMedia)) return;
    const stream = this.#streamOf(packet, negotiatedMedia);
    if (!stream) return;
    if (kind === 'digit') stream.digits.push(packet, now);
    stream.voice.push(packet, now, { silent: kind !== 'voice' });
  }

  /** Fills the block with audio from sample `from`. @returns false if there is none */
  read(from: number, block: Float32Array): boolean {
    return this.#stream?.voice.read(from, block) ?? false;
  }

  /** Call periodically. */
  tick(now: number): void {
    this.#stream?.digits.tick(now);
    const { silence, listener } = this.#options;
    if (!this.#agreed || !isReceiving(this.#agreed)) this.#heard = now;
    if (silence === 0 || this.#reported || now - this.#heard < silence) return;
    this.#reported = true;
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
