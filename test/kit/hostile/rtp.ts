// RTP of a healthy microphone, and its publication parameters.
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
