// A-law and mu-law with the decision values of ITU-T G.711.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeG711, encodeG711, type G711 } from '../../../../../node/components/sip/audio/g711.ts';

const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
const sixteenBits = (law: G711, bytes: Uint8Array) => [...decodeG711(law, bytes)].map((value) => Math.round(value * 32_768));

test('A-law decodes to the values of tables 1a and 1b, at 16 bits', () => {
  // Positive values, from the first of each segment (bits inverted as on the wire).
  const reference = [
    [0xd5, 8],
    [0xc5, 264],
    [0xf5, 528],
    [0xe5, 1056],
    [0x95, 2112],
    [0x85, 4224],
    [0xb5, 8448],
    [0xa5, 16_896],
    [0xaa, 32_256],
  ] as const;
  for (const [byte, value] of reference) {
    assert.deepEqual(sixteenBits('PCMA', Uint8Array.of(byte, byte ^ 0x80)), [value, -value], byte.toString(16));
  }
});

test('mu-law decodes to the values of tables 2a and 2b, at 16 bits', () => {
  const reference = [
    [0xff, 0],
    [0xfe, 8],
    [0xef, 132],
    [0xdf, 396],
    [0xcf, 924],
    [0xbf, 1980],
    [0xaf, 4092],
    [0x9f, 8316],
    [0x8f, 16_764],
    [0x80, 32_124],
  ] as const;
  for (const [byte, value] of reference) {
    assert.deepEqual(sixteenBits('PCMU', Uint8Array.of(byte, byte & 0x7f)).map(Math.abs), [value, value], byte.toString(16));
  }
});

for (const law of ['PCMA', 'PCMU'] as const) {
  test(`${law}: a decoded byte is encoded as the same byte`, () => {
    const bytes = encodeG711(law, decodeG711(law, all));
    // Mu-law has two zeros.
    const expected = [...all].map((byte) => (law === 'PCMU' && byte === 0x7f ? 0xff : byte));
    assert.deepEqual([...bytes], expected);
  });

  test(`${law}: silence is the silent byte, and too loud samples are clipped`, () => {
    assert.deepEqual([...encodeG711(law, Float32Array.of(0))], [law === 'PCMA' ? 0xd5 : 0xff]);
    const [loud, quiet] = decodeG711(law, encodeG711(law, Float32Array.of(3, -3)));
    assert.ok(loud !== undefined && loud > 0.97 && quiet === -loud);
  });

  test(`${law}: the error is below a 16th of the value`, () => {
    for (let value = 256; value < 32_000; value += 97) {
      const [decoded = 0] = decodeG711(law, encodeG711(law, Float32Array.of(value / 32_768)));
      assert.ok(Math.abs(decoded * 32_768 - value) <= value / 16 / 2 + 8, String(value));
    }
  });
}
