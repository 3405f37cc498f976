// PCMA and PCMU with tables (ITU-T G.711).

export type G711 = 'PCMA' | 'PCMU';

/** Expands a byte to 16 bits: 13 bits of A-law or 14 bits of mu-law, left-aligned. */
const expand = { PCMA: expandA, PCMU: expandMu } as const;
const fullScale = 32_768;

type Tables = { decoded: Float32Array; encoded: Uint8Array };
const tables: Record<G711, Tables> = { PCMA: tablesOf('PCMA'), PCMU: tablesOf('PCMU') };

/** @returns samples from -1 to 1 at 8000 Hz */
export function decodeG711(law: G711, payload: Uint8Array): Float32Array {
  const { decoded } = tables[law];
  const samples = new Float32Array(payload.length);
  for (let index = 0; index < payload.length; index += 1) samples[index] = decoded[payload[index] ?? 0] ?? 0;
  return samples;
}

/** Samples outside of -1 to 1 are clipped. */
export function encodeG711(law: G711, samples: Float32Array): Buffer {
  const { encoded } = tables[law];
  const payload = Buffer.allocUnsafe(samples.length);
  for (let index = 0; index < samples.length; index += 1) {
    const value = Math.round((samples[index] ?? 0) * fullScale);
    payload[index] = encoded[Math.max(-fullScale, Math.min(fullScale - 1, value)) + fullScale] ?? 0;
  }
  return payload;
}

function expandA(byte: number): number {
  const code = byte ^ 0x55;
  const segment = (code >> 4) & 7;
  const step = ((code & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? step : (step + 0x100) << (segment - 1);
  return code & 0x80 ? magnitude : -magnitude;
}

function expandMu(byte: number): number {
  const code = ~byte;
  const magnitude = ((((code & 0x0f) << 3) + 0x84) << ((code >> 4) & 7)) - 0x84;
  return code & 0x80 ? -magnitude : magnitude;
}

/** A sample is encoded as the byte that decodes nearest to it; a tie selects the greater value. */
function tablesOf(law: G711): Tables {
  const values = Array.from({ length: 256 }, (_, byte) => ({ byte, value: expand[law](byte) })).sort(
    // Mu-law has two zeros: the positive one, which is last, is silence.
    (a, b) => a.value - b.value || a.byte - b.byte,
  );
  const encoded = new Uint8Array(2 * fullScale);
  for (let index = 0, at = 0; index < encoded.length; index += 1) {
    const sample = index - fullScale;
    for (
      let next = values[at + 1];
      next && Math.abs(next.value - sample) <= Math.abs((values[at]?.value ?? 0) - sample);
      next = values[at + 1]
    )
      at += 1;
    encoded[index] = values[at]?.byte ?? 0;
  }
  const decoded = new Float32Array(256);
  for (const { byte, value } of values) decoded[byte] = value / fullScale;
  return { decoded, encoded };
}
