// Codecs of a room, and the capabilities that clients get.
import { parseScalabilityMode } from 'mediasoup';
import { canConsume } from 'mediasoup/ortc';
import type { Producer, RouterRtpCapabilities, RouterRtpCodecCapability, RtpCapabilities, RtpParameters } from 'mediasoup/types';
import type { VideoCodec } from '../../api/room.ts';

const opus: RouterRtpCodecCapability = {
  kind: 'audio',
  mimeType: 'audio/opus',
  clockRate: 48000,
  channels: 2,
  parameters: { 'sprop-stereo': 1, useinbandfec: 1, usedtx: 1 },
};
const vp8: RouterRtpCodecCapability = { kind: 'video', mimeType: 'video/VP8', clockRate: 90000 };
/** Profiles that senders use. The first, constrained baseline, is the only one that every browser encodes and decodes. */
const h264Profiles = { constrainedBaseline: '42e01f', baseline: '42001f', main: '4d001f', high: '64001f' };
/** RFC 6184: each profile with packetization mode 1, and with mode 0 for senders without fragments. Receivers must support the same. */
const h264: RouterRtpCodecCapability[] = [1, 0].flatMap((packetizationMode) =>
  Object.values(h264Profiles).map((profile) => ({
    kind: 'video',
    mimeType: 'video/H264',
    clockRate: 90000,
    parameters: { 'packetization-mode': packetizationMode, 'profile-level-id': profile, 'level-asymmetry-allowed': 1 },
  })),
);
const vp9: RouterRtpCodecCapability = { kind: 'video', mimeType: 'video/VP9', clockRate: 90000, parameters: { 'profile-id': 0 } };
const av1: RouterRtpCodecCapability = { kind: 'video', mimeType: 'video/AV1', clockRate: 90000 };

/** Codecs of a room, the preferred first. An enforced video codec is the only video codec. */
export function roomCodecs(videoCodec: VideoCodec | null): RouterRtpCodecCapability[] {
  if (videoCodec === 'vp8') return [opus, vp8];
  if (videoCodec === 'h264') return [opus, ...h264];
  if (videoCodec === 'none') return [opus];
  return [opus, vp8, ...h264, vp9, av1];
}

/** If this extension is negotiated, simulcast layers never switch (mediasoup 3.25 and later with current browsers). */
const absCaptureTime = 'http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time';

/** True if clients may use a header extension (RFC 8285). */
export function isOfferedExtension(uri: string): boolean {
  return uri !== absCaptureTime;
}

/** Router capabilities as clients get them. */
export function clientCapabilities(capabilities: RouterRtpCapabilities): RouterRtpCapabilities {
  return { ...capabilities, headerExtensions: capabilities.headerExtensions?.filter(({ uri }) => isOfferedExtension(uri)) };
}

/** True if a receiver with these capabilities can decode a track. */
export function canReceive({ consumableRtpParameters }: Producer, capabilities: RtpCapabilities): boolean {
  try {
    // It changes the capabilities.
    return canConsume(consumableRtpParameters, structuredClone(capabilities));
  } catch {
    return false;
  }
}

/** Properties of a published track: its codec in lower case, and whether receivers can choose a spatial layer. */
export function describeTrack(rtpParameters: RtpParameters): { encoding: string; simulcast: boolean } {
  const encodings = rtpParameters.encodings ?? [];
  const mimeType = rtpParameters.codecs[0]?.mimeType ?? '';
  return {
    encoding: mimeType.slice(mimeType.indexOf('/') + 1).toLowerCase(),
    simulcast: encodings.length > 1 || parseScalabilityMode(encodings[0]?.scalabilityMode).spatialLayers > 1,
  };
}

/** True for the retransmissions of a codec (RFC 4588). */
export function isRtx({ mimeType }: { mimeType: string }): boolean {
  return /\/rtx$/i.test(mimeType);
}
