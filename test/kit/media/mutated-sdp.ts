// Mutated SDP: half of the descriptions with other bytes, half with lines removed, repeated, moved or of another description.
import type { ByteFuzzer } from '../fuzzer.ts';

export function mutateSdp(fuzzer: ByteFuzzer, texts: readonly string[]): string {
  if (fuzzer.below(2) === 0) return fuzzer.mutate(texts.map((text) => Buffer.from(text))).toString('utf8');
  const lines = (texts[fuzzer.below(texts.length)] ?? '').split('\r\n');
  for (let changes = 1 + fuzzer.below(3); changes > 0; changes -= 1) {
    const at = fuzzer.below(lines.length);
    const other = (texts[fuzzer.below(texts.length)] ?? '').split('\r\n');
    const change = fuzzer.below(4);
    if (change === 0) lines.splice(at, 1);
    else if (change === 1) lines.splice(fuzzer.below(lines.length), 0, lines[at] ?? '');
    else if (change === 2) lines.splice(at, 1, other[fuzzer.below(other.length)] ?? '');
    else lines[at] = (lines[at] ?? '').replace(/\d+/, String([0, 1, 127, 256, 65_536, 4_294_967_296][fuzzer.below(6)]));
  }
  return lines.join('\r\n');
}
