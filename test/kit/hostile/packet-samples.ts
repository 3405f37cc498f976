// Packet samples: valid packets of each protocol between guest and media worker, as input of a mutator.
import { opusPayloadType } from './rtp.ts';

/** Header extensions that rooms accept (RFC 8285), by the ids that the samples use. */
const headerExtensions = [
  { uri: 'urn:ietf:params:rtp-hdrext:sdes:mid', id: 1 },
  { uri: 'http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time', id: 4 },
  { uri: 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01', id: 5 },
];
const audioLevel = { uri: 'urn:ietf:params:rtp-hdrext:ssrc-audio-level', id: 10 };
const videoExtensions = [
  { uri: 'urn:3gpp:video-orientation', id: 11 },
  { uri: 'urn:ietf:params:rtp-hdrext:toffset', id: 12 },
  { uri: 'http://www.webrtc.org/experiments/rtp-hdrext/playout-delay', id: 14 },
  { uri: 'https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension', id: 8 },
];

const feedback = ['nack', 'nack pli', 'ccm fir', 'goog-remb', 'transport-cc'].map((name) => {
  const [type = '', parameter = ''] = name.split(' ');
  return { type, parameter };
});

type Published = { kind: 'audio' | 'video'; ssrc: number; payloadType: number; rtpParameters: Record<string, unknown> };

/** One publication for each codec. */
export const publications: readonly Published[] = [
  {
    kind: 'audio',
    ssrc: 1001,
    payloadType: opusPayloadType,
    rtpParameters: {
      mid: '0',
      codecs: [{ mimeType: 'audio/opus', payloadType: opusPayloadType, clockRate: 48_000, channels: 2, parameters: {}, rtcpFeedback: [] }],
      encodings: [{ ssrc: 1001 }],
      headerExtensions: [...headerExtensions, audioLevel],
      rtcp: { cname: 'kit' },
    },
  },
  video('VP8', 1002, 96),
  video('VP9', 1003, 98, { 'profile-id': 0 }),
  video('H264', 1004, 102, { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 }),
  video('AV1', 1005, 104),
];

function video(codec: string, ssrc: number, payloadType: number, parameters: Record<string, unknown> = {}): Published {
  const base = { clockRate: 90_000, rtcpFeedback: feedback };
  const rtpParameters = {
    mid: String(ssrc - 1001),
    codecs: [
      { ...base, mimeType: `video/${codec}`, payloadType, parameters },
      { ...base, mimeType: 'video/rtx', payloadType: payloadType + 1, parameters: { apt: payloadType }, rtcpFeedback: [] },
    ],
    encodings: [{ ssrc, rtx: { ssrc: ssrc + 1000 } }],
    headerExtensions: [...headerExtensions, ...videoExtensions],
    rtcp: { cname: 'kit' },
  };
  return { kind: 'video', ssrc, payloadType, rtpParameters };
}

const oneByte = Buffer.from(`bede0004103042aabbcc510007a0ff${'00'.repeat(5)}`, 'hex');
const twoBytes = Buffer.from('100000050a01ff0b01000807800000010002030c03000001', 'hex');
const payloads = {
  opus: Buffer.from(`78${'11'.repeat(30)}`, 'hex'),
  // Payload descriptors and starts of key and delta frames: RFC 7741, RFC 9628, RFC 6184, AV1 RTP specification.
  vp8: ['90e08001420010020a9d012a4001f000', '90e08002430f31'],
  vp9: ['8f8002000104', 'ae80010a1f018000f0', 'ff8001ff04020f0e'],
  h264: ['6742e01f95', '7c85b80040', '1800046742e01f000468ce3c80', '5c41e0'],
  av1: ['180a0b0000', '9812000a', 'c0320510'],
};

/** RTP packets (RFC 3550, section 5.1) without, with one-byte and with two-byte extensions. */
export function rtpSamples(): Buffer[] {
  const bodies: (readonly [ssrc: number, payloadType: number, payload: Buffer])[] = [[1001, opusPayloadType, payloads.opus]];
  for (const { ssrc, payloadType, rtpParameters } of publications.slice(1)) {
    const [{ mimeType }] = rtpParameters.codecs as [{ mimeType: string }];
    const texts = payloads[mimeType.slice('video/'.length).toLowerCase() as 'vp8' | 'vp9' | 'h264' | 'av1'];
    for (const text of texts) {
      const payload = Buffer.concat([Buffer.from(text, 'hex'), Buffer.alloc(40, 0x5a)]);
      bodies.push([ssrc, payloadType, payload], [ssrc + 1000, payloadType + 1, Buffer.concat([Buffer.from([0, 1]), payload])]);
    }
  }
  return bodies.flatMap(([ssrc, payloadType, payload]) =>
    [Buffer.alloc(0), oneByte, twoBytes].map((extension) => {
      const header = Buffer.alloc(12);
      header[0] = extension.length > 0 ? 0x90 : 0x80;
      header[1] = payloadType | 0x80;
      header.writeUInt32BE(ssrc, 8);
      return Buffer.concat([header, extension, payload]);
    }),
  );
}

/** RTCP packets (RFC 3550, section 6; RFC 4585; RFC 5104; RFC 3611) about these sources. */
export function rtcpSamples(ssrcs: readonly number[]): Buffer[] {
  return ssrcs.flatMap((ssrc) => {
    const media = hex32(ssrc);
    const block = `${media}00000000000000010000000200000003${'00'.repeat(4)}`.slice(0, 48);
    const report = `81c90007${hex32(1)}${block}`;
    return [
      `80c80006${media}${'00'.repeat(20)}`,
      report,
      `${report}81ca0005${media}010a6b69742d636e616d650000000000`.slice(0, 2 * (32 + 24)),
      `81cb0001${media}`,
      `81cd0003${hex32(1)}${media}00010003`,
      `81ce0002${hex32(1)}${media}`,
      `84ce0004${hex32(1)}00000000${media}07000000`,
      `8fce0005${hex32(1)}0000000052454d420103a0c0${media}`,
      `8fcd0005${hex32(1)}${media}0001000300000100200304080c000000`,
      `80cf0004${hex32(1)}04000002${'00'.repeat(8)}`,
    ].map((text) => Buffer.from(text, 'hex'));
  });
}

function hex32(value: number): string {
  return value.toString(16).padStart(8, '0');
}
