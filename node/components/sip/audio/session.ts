// Interface between signaling and audio of a call: takes the SDP agreement, and reports digits and silence.

/** Names as in SDP (RFC 3551, RFC 7587). The RTP clock of G722 is 8000 although it samples at 16000 Hz (RFC 3551, section 4.5.2). */
export const callCodecs = ['opus', 'G722', 'PCMA', 'PCMU'] as const;
export type CallCodec = (typeof callCodecs)[number];

/** SDES keys (RFC 4568): suite, and master key with salt in base64 for each direction. */
export type CallKeys = { suite: 'AES_CM_128_HMAC_SHA1_80' | 'AES_CM_128_HMAC_SHA1_32'; local: string; remote: string };

export type NegotiatedMedia = {
  codec: CallCodec;
  payloadType: number;
  /** Payload type of telephone-event (RFC 4733); undefined if the remote party accepts none. */
  dtmfPayloadType: number | undefined;
  /** Clock rate of event durations, if it differs from that of the codec. */
  dtmfClockRate?: number;
  /** Payload type of comfort noise (RFC 3389), 13 or another, if negotiated. */
  comfortNoisePayloadType: number | undefined;
  /** RTP address of the remote party in SDP. RTP is sent to the source of its packets (symmetric RTP, RFC 4961) once they arrive. */
  remote: { ip: string; port: number };
  keys: CallKeys | undefined;
  /** Local direction; hold is sendonly or inactive. */
  direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';
};

export type SessionListener = {
  /** One digit of 0-9, *, #, A-D, reported once at its end with its duration in milliseconds. */
  onDigit: (digit: string, duration: number) => void;
  /** The remote party has been silent for longer than the timeout and counts as lost. */
  onSilent: () => void;
};

/** Audio of one call between remote party and room. Created with a bound port, before negotiation. */
export interface CallSession {
  /** Local RTP port; RTCP on the next port is not used (multiplexed or omitted). */
  readonly port: number;
  /** SSRC of the remote party's audio in the room (Opus, `roomAudioCodec`); it continues without a break from the first agree(). */
  readonly ssrc: number;
  /** Also called for every change by re-INVITE. Starts audio in the negotiated direction. */
  applyNegotiation(negotiatedMedia: NegotiatedMedia): void;
  /** Sends digits as RFC 4733 events. @throws RangeError for other characters, Error if telephone-event was not negotiated */
  sendDigits(digits: string, options?: { duration?: number; gap?: number }): Promise<void>;
  /** Ends the audio; resolves when the port is free. Idempotent. */
  close(): Promise<void>;
}

/**
 * Audio of a sip component: receives the tracks of the room once, and sends each call a mix of all other audio. Created by
 * ComponentAudio.open(), which adds connect(), addTrack() and removeTrack() for the room side.
 */
export interface CallAudio {
  /** Uses a port of the configured range. @throws Error if none is free */
  open(callId: string, listener: SessionListener): Promise<CallSession>;
}
