// Duration of an Opus packet (RFC 6716, section 3.1).

/** Samples at 48 kHz of one frame, by configuration number. */
const silk = [480, 960, 1920, 2880];
const hybrid = [480, 960];
const celt = [120, 240, 480, 960];

/** Samples at 48 kHz; 0 for an invalid packet. */
export function opusDuration(packet: Buffer): number {
  const [head, count = 0] = packet;
  if (head === undefined) return 0;
  const configuration = head >> 3;
  const sizes = configuration < 12 ? silk : configuration < 16 ? hybrid : celt;
  const frame = sizes[configuration % sizes.length] ?? 0;
  const frames = [1, 2, 2, count & 0x3f][head & 3] ?? 0;
  return frame * frames;
}
