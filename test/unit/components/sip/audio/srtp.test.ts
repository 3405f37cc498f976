// SRTP with the test vectors of RFC 3711, appendix B, and with lost, duplicate, forged and wrapped packets.
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { test } from 'node:test';
import { rtpPacket } from '../../../../../node/components/rtp/rtp-writer.ts';
import { deriveKeys, SrtpReceiver, SrtpSender } from '../../../../../node/components/sip/audio/srtp.ts';
import { ByteFuzzer } from '../../../../kit/fuzzer.ts';

const masterKey = Buffer.from('E1F97A0D3E018BE0D64FA32C06DE4139', 'hex');
const masterSalt = Buffer.from('0EC675AD498AFEEBB6960B3AABE6', 'hex');
const inline = Buffer.concat([masterKey, masterSalt]).toString('base64');
const suites = ['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'] as const;

test('keys are derived as in RFC 3711, appendix B.3', () => {
  const { encryption, salt, authentication } = deriveKeys(inline);
  assert.equal(encryption.toString('hex').toUpperCase(), 'C61E7A93744F39EE10734AFE3FF7A087');
  assert.equal(salt.toString('hex').toUpperCase(), '30CBBC08863D8C85D49DB34A9AE1');
  assert.equal(authentication.toString('hex').toUpperCase(), 'CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4');
  assert.throws(() => deriveKeys('c2hvcnQ='), RangeError);
});

test('the key stream is that of RFC 3711, appendix B.2', () => {
  const iv = Buffer.from('F0F1F2F3F4F5F6F7F8F9FAFBFCFD0000', 'hex');
  const key = Buffer.from('2B7E151628AED2A6ABF7158809CF4F3C', 'hex');
  const stream = createCipheriv('aes-128-ctr', key, iv).update(Buffer.alloc(48)).toString('hex').toUpperCase();
  assert.equal(stream, 'E03EAD0935C95E80E166B16DD92B4EB4D23513162B02D0F72A43A2FE4A5F97AB41E95B3BB0A2E8DD477901E4FCA894C0');
});

test('a packet is encrypted and authenticated as by libsrtp', () => {
  // srtp_validate of libsrtp, test/srtp_driver.c.
  const plain = Buffer.from(`800f1234decafbadcafebabe${'ab'.repeat(16)}`, 'hex');
  const ciphered = '800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb';
  assert.equal(new SrtpSender(inline).protect(plain, 'AES_CM_128_HMAC_SHA1_80').toString('hex'), ciphered);
  assert.deepEqual(new SrtpReceiver(inline).unprotect(Buffer.from(ciphered, 'hex'), 'AES_CM_128_HMAC_SHA1_80'), plain);
});

const packet = (sequence: number, ssrc = 77) =>
  rtpPacket({ payloadType: 8, sequence, timestamp: sequence * 160, ssrc, marker: false }, Buffer.alloc(160, sequence & 0xff));

for (const suite of suites) {
  test(`${suite}: protected packets are unprotected in any order, once, also when sequence numbers wrap`, () => {
    const sender = new SrtpSender(inline);
    const receiver = new SrtpReceiver(inline);
    const plain = Array.from({ length: 300 }, (_, index) => packet((65_400 - 2 ** 15 + 2 ** 15 + index) % 2 ** 16));
    const sent = plain.map((one) => sender.protect(one, suite));
    assert.equal(sent[0]?.length, 172 + (suite.endsWith('80') ? 10 : 4));
    for (let index = 0; index + 2 < sent.length; index += 3) {
      for (const at of [index, index + 2, index + 1]) assert.deepEqual(receiver.unprotect(sent[at] ?? Buffer.alloc(0), suite), plain[at]);
    }
    for (const one of sent) assert.equal(receiver.unprotect(one, suite), undefined);
  });

  test(`${suite}: modified packets, or packets with another key, are rejected`, () => {
    const other = Buffer.alloc(30, 1).toString('base64');
    assert.equal(new SrtpReceiver(other).unprotect(new SrtpSender(inline).protect(packet(1), suite), suite), undefined);
    const byteFuzzer = new ByteFuzzer(11);
    const receiver = new SrtpReceiver(inline);
    const sent = new SrtpSender(inline).protect(packet(1), suite);
    let changed = 0;
    for (let index = 0; index < 5000; index += 1) {
      const mutated = byteFuzzer.mutate([sent]);
      if (mutated.equals(sent)) continue;
      changed += 1;
      assert.equal(receiver.unprotect(mutated, suite), undefined);
    }
    assert.ok(changed > 4000);
    assert.deepEqual(receiver.unprotect(sent, suite), packet(1));
  });
}

test('a packet outside of the replay window is rejected, and sources have separate sequence numbers', () => {
  const [sender, receiver, [suite]] = [new SrtpSender(inline), new SrtpReceiver(inline), suites];
  const late = sender.protect(packet(100), suite);
  for (let sequence = 101; sequence < 300; sequence += 1) assert.ok(receiver.unprotect(sender.protect(packet(sequence), suite), suite));
  assert.equal(receiver.unprotect(late, suite), undefined);
  assert.ok(receiver.unprotect(new SrtpSender(inline).protect(packet(5, 78), suite), suite));
});
