// RTP of a healthy microphone and a healthy camera, and their publication parameters.
const samplesPerPacket = 960;
export const opusPayloadType = 111;

/** Parameters of `publish` for Opus. */
export function opusParameters(ssrc: number, headerExtensions: readonly { uri: string; id: number }[] = []) {
  return {
    mid: '0',
    codecs: [{ mimeType: 'audio/opus', payloadType: opusPayloadType, clockRate: 48_000, channels: 2, parameters: {}, rtcpFeedback: [] }],
    encodings: [{ ssrc }],
    headerExtensions,
    rtcp: { cname: 'kit' },
  };
}

/** The packet with this number of a stream of 20 ms packets (RFC 3550, section 5.1). `extension`: with its header, multiple of 4 bytes. */
export function opusPacket(ssrc: number, number: number, extension: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(12);
  header[0] = extension.length > 0 ? 0x90 : 0x80;
  header[1] = opusPayloadType;
  header.writeUInt16BE(number & 0xffff, 2);
  header.writeUInt32BE((number * samplesPerPacket) >>> 0, 4);
  header.writeUInt32BE(ssrc, 8);
  return Buffer.concat([header, extension, Buffer.alloc(20, number & 0xff)]);
}

/** The number of a packet of such a stream, from its timestamp, which forwarding preserves. */
export function opusPacketNumber(packet: Buffer): number {
  return packet.readUInt32BE(4) / samplesPerPacket;
}

const vp8PayloadType = 96;
/** A VP8 key frame of 16 by 16 pixels (RFC 7741, section 4.2; RFC 6386, section 9.1), without the data after its header. */
const keyFrame = Buffer.from([0x10, 0x50, 0x01, 0x00, 0x9d, 0x01, 0x2a, 16, 0, 16, 0]);

/** Parameters of `publish` for VP8. */
export function vp8Parameters(ssrc: number) {
  const rtcpFeedback = [{ type: 'nack', parameter: 'pli' }];
  const codecs = [{ mimeType: 'video/VP8', payloadType: vp8PayloadType, clockRate: 90_000, rtcpFeedback }];
  return { codecs, encodings: [{ ssrc }], rtcp: { cname: 'kit' } };
}

/** The packet with this number of a stream of key frames; its last 900 bytes are its number. */
export function vp8Packet(ssrc: number, number: number): Buffer {
  const header = Buffer.from([0x80, 0x80 | vp8PayloadType, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt16BE(number & 0xffff, 2);
  header.writeUInt32BE((number * 3_000) >>> 0, 4);
  header.writeUInt32BE(ssrc, 8);
  return Buffer.concat([header, keyFrame, Buffer.alloc(900, number & 0xff)]);
}
