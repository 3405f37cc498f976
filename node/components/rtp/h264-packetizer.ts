// H.264 RTP packetizer (RFC 6184, packetization mode 1): payloads of access units.

const startCode = Buffer.from([0, 0, 1]);

/** NAL units of a complete access unit with start codes (ITU-T H.264, Annex B). They are views. */
export function nalUnits(accessUnit: Buffer): Buffer[] {
  const units: Buffer[] = [];
  for (let at = accessUnit.indexOf(startCode); at >= 0; ) {
    const start = at + startCode.length;
    at = accessUnit.indexOf(startCode, start);
    let end = at < 0 ? accessUnit.length : at;
    // Zeros after a NAL unit belong to the byte stream.
    while (end > start && accessUnit[end - 1] === 0) end -= 1;
    if (end > start) units.push(accessUnit.subarray(start, end));
  }
  return units;
}

/** Maximum bytes of an RTP payload that fits any path, with headers and encryption. */
const maxPayload = 1200;

/** Payloads of one access unit: small NAL units aggregated (STAP-A), large ones fragmented (FU-A), others unchanged. */
export function h264Payloads(nals: readonly Buffer[], limit = maxPayload): Buffer[] {
  const payloads: Buffer[] = [];
  let group: Buffer[] = [];
  let size = 1;
  const flush = () => {
    if (group.length > 0) payloads.push(group.length === 1 ? (group[0] as Buffer) : aggregate(group));
    group = [];
    size = 1;
  };
  for (const nal of nals) {
    if (size + 2 + nal.length > limit) flush();
    if (nal.length > limit) payloads.push(...fragments(nal, limit));
    else {
      group.push(nal);
      size += 2 + nal.length;
    }
  }
  flush();
  return payloads;
}

/** STAP-A (section 5.7.1). */
function aggregate(nals: readonly Buffer[]): Buffer {
  const importance = Math.max(...nals.map((nal) => (nal[0] ?? 0) & 0x60));
  const parts: Buffer[] = [Buffer.from([importance | 24])];
  for (const nal of nals) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(nal.length);
    parts.push(length, nal);
  }
  return Buffer.concat(parts);
}

/** FU-A (section 5.8). */
function fragments(nal: Buffer, limit: number): Buffer[] {
  const header = nal[0] ?? 0;
  const parts: Buffer[] = [];
  for (let at = 1; at < nal.length; at += limit - 2) {
    const end = Math.min(at + limit - 2, nal.length);
    const marks = (at === 1 ? 0x80 : 0) | (end === nal.length ? 0x40 : 0);
    parts.push(Buffer.concat([Buffer.from([(header & 0x60) | 28, marks | (header & 31)]), nal.subarray(at, end)]));
  }
  return parts;
}
