// RTP packet and RTCP sender report writer (RFC 3550).

/** Seconds from 1900 (NTP) to 1970. */
const ntpEpoch = 2_208_988_800;

export type RtpHeader = { payloadType: number; sequence: number; timestamp: number; ssrc: number; marker: boolean };

/** Section 5.1; numbers wrap. */
export function rtpPacket({ payloadType, sequence, timestamp, ssrc, marker }: RtpHeader, payload: Buffer): Buffer {
  const packet = Buffer.allocUnsafe(12 + payload.length);
  packet[0] = 0x80;
  packet[1] = (marker ? 0x80 : 0) | payloadType;
  packet.writeUInt16BE(sequence & 0xffff, 2);
  packet.writeUInt32BE(timestamp >>> 0, 4);
  packet.writeUInt32BE(ssrc, 8);
  payload.copy(packet, 12);
  return packet;
}

/** `time`: milliseconds since 1970 of `timestamp`. */
export type SenderReport = { ssrc: number; time: number; timestamp: number; packets: number; octets: number };

/** Section 6.4.1, without report blocks. */
export function senderReport({ ssrc, time, timestamp, packets, octets }: SenderReport): Buffer {
  const report = Buffer.alloc(28);
  const seconds = Math.floor(time / 1000);
  report[0] = 0x80;
  report[1] = 200;
  report.writeUInt16BE(6, 2);
  report.writeUInt32BE(ssrc, 4);
  report.writeUInt32BE((seconds + ntpEpoch) >>> 0, 8);
  report.writeUInt32BE(Math.floor((time / 1000 - seconds) * 2 ** 32) >>> 0, 12);
  report.writeUInt32BE(timestamp >>> 0, 16);
  report.writeUInt32BE(packets >>> 0, 20);
  report.writeUInt32BE(octets >>> 0, 24);
  return report;
}
