// The sound of one call, as the part that speaks SIP uses it: what was agreed in SDP goes in, digits and silence come out.

/** Names as in SDP (RFC 3551, RFC 7587). G722's RTP clock is 8000 although it samples at 16000 Hz (RFC 3551, section 4.5.2). */
export const callCodecs = ['opus', 'G722', 'PCMA', 'PCMU'] as const;
export type CallCodec = (typeof callCodecs)[number];

/** Keys of SDES (RFC 4568): the suite and master key with salt, base64, of each direction. */
export type CallKeys = { suite: 'AES_CM_128_HMAC_SHA1_80' | 'AES_CM_128_HMAC_SHA1_32'; local: string; remote: string };

export type NegotiatedMedia = {
  codec: CallCodec;
  payloadType: number;
  /** Payload type of telephone-event (RFC 4733); undefined where the far side takes none. */
  dtmfPayloadType: number | undefined;
  /** Of its durations, where it is not the codec's. */
  dtmfClockRate?: number;
  /** Payload type 13 or another one of comfort noise (RFC 3389), where agreed. */
  comfortNoisePayloadType: number | undefined;
  /** Where the far side takes RTP. It is answered where its packets come from (symmetric RTP, RFC 4961) once they do. */
  remote: { ip: string; port: number };
  keys: CallKeys | undefined;
  /** What this side does; hold is sendonly or inactive. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';
};

export type SessionListener = {
  /** One digit of 0-9, *, #, A-D, told once at its end, with its length in milliseconds. */
  onDigit: (digit: string, duration: number) => void;
  /** Nothing came for so long that the far side is taken for gone. */
  onSilent: () => void;
};

/** The sound of one call between the far side and the room. Made with a bound port, before anything is agreed. */
export interface CallSession {
  /** Local RTP port; RTCP on the next one is not used (it is multiplexed or left out). */
  readonly port: number;
  /** SSRC of the far side's voice as it goes to the room (Opus, `roomAudioCodec`), from the first agree() on without a break. */
  readonly ssrc: number;
  /** Also for every change by re-INVITE. From here sound flows both ways as the direction says. */
  applyNegotiation(negotiatedMedia: NegotiatedMedia): void;
  /** Sends digits as RFC 4733 events one after the other. @throws RangeError for other characters, Error where no telephone-event was agreed */
  sendDigits(digits: string, options?: { duration?: number; gap?: number }): Promise<void>;
  /** Ends it; resolves when the port is free. Idempotent. */
  close(): Promise<void>;
}

/**
 * All sound of one sip component: the room's tracks come in once and go out mixed to each call, without that call's own voice. Made by
 * ComponentAudio.open(), which has connect(), addTrack() and removeTrack() for the way to and from the room.
 */
export interface CallAudio {
  /** Takes a port of the configured range. @throws Error where none is free */
  open(callId: string, listener: SessionListener): Promise<CallSession>;
}
