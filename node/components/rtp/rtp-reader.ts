// RTP and RTCP parser for received packets (RFC 3550, RFC 4585).

export type RtpPacket = { payloadType: number; sequence: number; timestamp: number; ssrc: number; marker: boolean; payload: Buffer };
/** Wall-clock time of an RTP timestamp. `time`: milliseconds since 1970. */
export type SenderReportTime = { ssrc: number; time: number; timestamp: number };

/** Seconds from 1900 (NTP) to 1970. */
const ntpEpoch = 2_208_988_800;
const types = { senderReport: 200, receiverReport: 201, payloadFeedback: 206 } as const;

/** RTP and RTCP on one port are distinguished by the second byte (RFC 5761, section 4). */
export function isRtcp(packet: Buffer): boolean {
  const type = packet[1] ?? 0;
  return packet.length >= 8 && type >= 192 && type <= 223;
}

/** RFC 3550, section 5.1. The payload is a view of the packet. @returns undefined if it is not RTP */
export function parseRtp(packet: Buffer): RtpPacket | undefined {
  const [first = 0, second = 0] = packet;
  if (packet.length < 12 || first >> 6 !== 2) return undefined;
  let start = 12 + (first & 0x0f) * 4;
  if (first & 0x10) {
    if (start + 4 > packet.length) return undefined;
    start += 4 + packet.readUInt16BE(start + 2) * 4;
  }
  const end = packet.length - (first & 0x20 ? (packet.at(-1) ?? 0) : 0);
  if (start > end) return undefined;
  return {
    payloadType: second & 0x7f,
    marker: (second & 0x80) !== 0,
    sequence: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: packet.subarray(start, end),
  };
}

/** The sender reports of a compound packet (section 6.4.1). */
export function parseSenderReports(packet: Buffer): SenderReportTime[] {
  const times: SenderReportTime[] = [];
  for (let at = 0; at + 4 <= packet.length; ) {
    const length = (packet.readUInt16BE(at + 2) + 1) * 4;
    if (packet[at + 1] === types.senderReport && length >= 28 && at + 28 <= packet.length) {
      const seconds = packet.readUInt32BE(at + 8) - ntpEpoch + packet.readUInt32BE(at + 12) / 2 ** 32;
      times.push({ ssrc: packet.readUInt32BE(at + 4), time: seconds * 1000, timestamp: packet.readUInt32BE(at + 16) });
    }
    at += length;
  }
  return times;
}

/** SSRCs of the picture loss indications in a compound packet (RFC 4585, section 6.3.1). */
export function parsePictureLosses(packet: Buffer): number[] {
  const ssrcs: number[] = [];
  for (let at = 0; at + 12 <= packet.length; at += (packet.readUInt16BE(at + 2) + 1) * 4)
    if (packet[at + 1] === types.payloadFeedback && ((packet[at] ?? 0) & 0x1f) === 1) ssrcs.push(packet.readUInt32BE(at + 8));
  return ssrcs;
}

/** Picture loss indication (RFC 4585, section 6.3.1) after an empty receiver report, as compound packets require. */
export function pictureLossIndication(from: number, about: number): Buffer {
  const packet = Buffer.alloc(20);
  packet[0] = 0x80;
  packet[1] = types.receiverReport;
  packet.writeUInt16BE(1, 2);
  packet.writeUInt32BE(from, 4);
  packet[8] = 0x81;
  packet[9] = types.payloadFeedback;
  packet.writeUInt16BE(2, 10);
  packet.writeUInt32BE(from, 12);
  packet.writeUInt32BE(about, 16);
  return packet;
}
