// Schemas of media parameters on the wire: RTP, DTLS, ICE and SCTP. The media engine validates client input with them
// (media/parameters.ts). Messages of the peer WebSocket accept any object there; only their document refers to these schemas.
import { z } from 'zod';

const uint32 = z.number().int().min(1).max(0xffff_ffff);
const uint16 = z.number().int().min(0).max(0xffff);
const payloadType = z.number().int().min(0).max(127);
const token = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[\x21-\x7e]+$/, 'may contain only visible ASCII characters');
/** Values of format parameters; mediasoup encodes integers as 32 bits. */
const parameterValue = z.union([z.string().max(256), z.number().int().min(-0x8000_0000).max(0x7fff_ffff), z.number().min(-1e9).max(1e9)]);
const parameters = z
  .record(z.string().min(1).max(64), parameterValue)
  .refine((value) => Object.keys(value).length <= 32, 'has more than 32 entries');
const rtcpFeedback = z.array(z.object({ type: token(32), parameter: z.string().max(32).optional() })).max(32);
const mimeType = z
  .string()
  .max(64)
  .regex(/^(audio|video)\/[A-Za-z0-9.+-]+$/i, 'must be like audio/opus');

const codec = z.object({
  mimeType,
  payloadType,
  clockRate: uint32,
  channels: z.number().int().min(1).max(8).optional(),
  parameters: parameters.optional(),
  rtcpFeedback: rtcpFeedback.optional(),
});
const encoding = z.object({
  ssrc: uint32.optional(),
  rid: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 alphanumeric characters, hyphens or underscores')
    .optional(),
  codecPayloadType: payloadType.optional(),
  rtx: z.object({ ssrc: uint32 }).optional(),
  dtx: z.boolean().optional(),
  scalabilityMode: z
    .string()
    .regex(/^[LS][1-4]T[1-4]h?(_KEY(_SHIFT)?)?$/, 'must be a scalability mode like L1T3')
    .optional(),
  maxBitrate: z.number().int().min(1).max(1e12).optional(),
});
export const rtpParametersSchema = z.object({
  mid: token(32).optional(),
  codecs: z.array(codec).min(1).max(16),
  headerExtensions: z
    .array(
      z.object({
        uri: token(256),
        id: z.number().int().min(1).max(255),
        encrypt: z.boolean().optional(),
        parameters: parameters.optional(),
      }),
    )
    .max(32)
    .optional(),
  encodings: z.array(encoding).max(8).optional(),
  rtcp: z.object({ cname: z.string().max(255).optional(), reducedSize: z.boolean().optional() }).optional(),
  msid: z.string().max(256).optional(),
});

export const rtpCapabilitiesSchema = z.object({
  codecs: z
    .array(
      z.object({
        kind: z.enum(['audio', 'video']).optional(),
        mimeType,
        preferredPayloadType: payloadType.optional(),
        clockRate: uint32,
        channels: z.number().int().min(1).max(8).optional(),
        parameters: parameters.optional(),
        rtcpFeedback: rtcpFeedback.optional(),
      }),
    )
    .max(128)
    .optional(),
  headerExtensions: z
    .array(
      z.object({
        kind: z.enum(['audio', 'video']),
        uri: token(256),
        preferredId: z.number().int().min(1).max(255),
        preferredEncrypt: z.boolean().optional(),
        direction: z.enum(['sendrecv', 'sendonly', 'recvonly', 'inactive']).optional(),
      }),
    )
    .max(64)
    .optional(),
});

export const dtlsParametersSchema = z.object({
  role: z.enum(['auto', 'client', 'server']).optional(),
  // RFC 8122, section 5: any case; the worker compares with upper case.
  fingerprints: z
    .array(
      z.object({
        algorithm: z
          .string()
          .toLowerCase()
          .pipe(z.enum(['sha-1', 'sha-224', 'sha-256', 'sha-384', 'sha-512'])),
        value: z
          .string()
          .regex(/^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19,63}$/, 'must be a fingerprint like AB:CD:...')
          .toUpperCase(),
      }),
    )
    .min(1)
    .max(16),
});

export const sctpStreamParametersSchema = z
  .object({
    // RFC 8832, section 6: stream 65535 is reserved.
    streamId: z.number().int().min(0).max(65_534),
    ordered: z.boolean().optional(),
    maxPacketLifeTime: uint16.nullable().optional(),
    maxRetransmits: uint16.nullable().optional(),
  })
  .transform(({ streamId, ordered, maxPacketLifeTime, maxRetransmits }) => ({
    streamId,
    ordered,
    maxPacketLifeTime: maxPacketLifeTime ?? undefined,
    maxRetransmits: maxRetransmits ?? undefined,
  }))
  .refine(
    (value) => value.maxPacketLifeTime === undefined || value.maxRetransmits === undefined,
    'may have maxPacketLifeTime or maxRetransmits, not both',
  )
  .refine(
    (value) => value.ordered !== true || (value.maxPacketLifeTime === undefined && value.maxRetransmits === undefined),
    'must not be ordered if maxPacketLifeTime or maxRetransmits is given',
  );

const iceParametersSchema = z.object({
  usernameFragment: z.string(),
  password: z.string(),
  iceLite: z.boolean().meta({ description: 'Always true: the client is the controlling side (RFC 8445, section 2.5).' }),
});
const iceCandidateSchema = z.object({
  foundation: z.string(),
  priority: uint32,
  ip: z.string().meta({ description: 'Same as address, for clients that use this name.' }),
  address: z.string(),
  protocol: z.enum(['udp', 'tcp']),
  port: uint16,
  type: z.literal('host'),
  tcpType: z.literal('passive').optional(),
});
const iceServerSchema = z.object({
  urls: z.union([z.string(), z.array(z.string())]),
  username: z.string().optional(),
  credential: z.string().optional(),
});
export const transportOptionsSchema = z.object({
  id: z.string(),
  iceParameters: iceParametersSchema,
  iceCandidates: z.array(iceCandidateSchema),
  dtlsParameters: dtlsParametersSchema,
  sctpParameters: z
    .object({
      port: uint16,
      OS: uint16.meta({ description: 'Initial number of outgoing streams.' }),
      MIS: uint16.meta({ description: 'Maximum number of incoming streams.' }),
      maxMessageSize: z.int().min(0).meta({ description: 'Bytes.' }),
    })
    .optional()
    .meta({ description: 'Present if data channels were requested and are allowed (RFC 8841).' }),
});
const streamStatsSchema = z.looseObject({
  type: z.enum(['inbound-rtp', 'outbound-rtp']),
  timestamp: z.number().meta({ description: 'Clock of the media worker, in milliseconds.' }),
  ssrc: uint32,
  rid: z.string().optional(),
  kind: z.enum(['audio', 'video']),
  mimeType: z.string(),
  packetCount: z.int().min(0),
  byteCount: z.int().min(0),
  bitrate: z.number().min(0).meta({ description: 'Bits per second.' }),
  packetsLost: z.int(),
  fractionLost: z.int().min(0).max(255).meta({ description: 'Fraction of 256, since the last report (RFC 3550, section 6.4.1).' }),
  roundTripTime: z.number().optional().meta({ description: 'Milliseconds.' }),
  jitter: z.number().optional().meta({ description: 'Inbound streams only, in units of the clock rate.' }),
  score: z.number().min(0).max(10),
});
const transportStatsSchema = z.looseObject({
  type: z.literal('webrtc-transport'),
  transportId: z.string(),
  timestamp: z.number().meta({ description: 'Clock of the media worker, in milliseconds.' }),
  iceState: z.enum(['new', 'connected', 'completed', 'disconnected', 'closed']),
  dtlsState: z.enum(['new', 'connecting', 'connected', 'failed', 'closed']),
  bytesReceived: z.int().min(0),
  bytesSent: z.int().min(0),
  recvBitrate: z.number().min(0).meta({ description: 'Bits per second.' }),
  sendBitrate: z.number().min(0).meta({ description: 'Bits per second.' }),
  availableOutgoingBitrate: z.number().optional().meta({ description: 'Bits per second.' }),
});

/** Accepts any object, because another module validates it; the document contains `schema` instead. */
function described(id: string, description: string, schema: z.ZodType) {
  return z.record(z.string(), z.unknown()).meta({ id, description, described: schema });
}

/** By name in the documents. */
export const mediaObjects = {
  rtpParameters: described(
    'RtpParameters',
    "Send parameters of a track (RFC 3550, RFC 8285, RFC 8852), in the form of ORTC's RTCRtpParameters. One codec, and optionally its rtx (RFC 4588).",
    rtpParametersSchema,
  ),
  rtpCapabilities: described(
    'RtpCapabilities',
    "Send or receive capabilities of an endpoint, in the form of ORTC's RTCRtpCapabilities.",
    rtpCapabilitiesSchema,
  ),
  dtlsParameters: described(
    'DtlsParameters',
    'Role and fingerprints of a certificate (RFC 8122), in upper or lower case.',
    dtlsParametersSchema,
  ),
  iceParameters: described('IceParameters', 'ICE credentials of a transport, for connectivity checks (RFC 8839).', iceParametersSchema),
  iceServer: described('IceServer', 'A STUN or TURN server, as RTCIceServer of WebRTC.', iceServerSchema),
  transportOptions: described(
    'TransportOptions',
    "A transport of the server, in the form of mediasoup-client's TransportOptions.",
    transportOptionsSchema,
  ),
  sctpStreamParameters: described(
    'SctpStreamParameters',
    'A data channel (RFC 8831, RFC 8832): maxPacketLifeTime in milliseconds or maxRetransmits; neither if ordered.',
    sctpStreamParametersSchema,
  ),
  streamStats: described(
    'StreamStats',
    'One RTP stream of a track, as counted by the media worker; further fields are possible.',
    streamStatsSchema,
  ),
  transportStats: described(
    'TransportStats',
    'A transport, as counted by the media worker; further fields are possible.',
    transportStatsSchema,
  ),
};
