// RTP sender of a call over time: keys and sequence numbers survive changes by the remote party.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { parseRtp } from '../../../../../node/components/rtp/rtp-reader.ts';
import { frameSamples } from '../../../../../node/components/sip/audio/audio-format.ts';
import { CallRtpSender } from '../../../../../node/components/sip/audio/call-rtp-sender.ts';
import type { CallKeys, NegotiatedMedia } from '../../../../../node/components/sip/audio/session.ts';
import { SrtpReceiver } from '../../../../../node/components/sip/audio/srtp.ts';

const suite = 'AES_CM_128_HMAC_SHA1_80';
const newKey = () => randomBytes(30).toString('base64');

function agreed(keys: CallKeys | undefined): NegotiatedMedia {
  const remote = { ip: '192.0.2.1', port: 4000 };
  const payloadTypes = { payloadType: 8, dtmfPayloadType: undefined, comfortNoisePayloadType: undefined };
  return { codec: 'PCMA', ...payloadTypes, remote, keys, direction: 'sendrecv' };
}

test('a new key or suite of the remote party changes nothing in the sent key stream, which is never reused', () => {
  const local = newKey();
  const sent: Buffer[] = [];
  const sender = new CallRtpSender({ send: (packet) => sent.push(packet) });
  const receiver = new SrtpReceiver(local);
  const block = new Float32Array(frameSamples);
  let number = 0;
  const next = () => {
    sender.next(number++, block);
    return sent.pop() ?? Buffer.alloc(0);
  };
  const nextHeard = (withSuite: CallKeys['suite'] = suite) => {
    const plain = receiver.unprotect(next(), withSuite);
    return plain && parseRtp(plain);
  };
  // Without keys until the sequence numbers are about to wrap, which happens every 22 minutes.
  sender.agree(agreed(undefined));
  while (next().readUInt16BE(2) < 2 ** 16 - 10);
  sender.agree(agreed({ suite, local, remote: newKey() }));
  for (let index = 0; index < 20; index += 1) assert.ok(nextHeard());
  sender.agree(agreed({ suite, local, remote: newKey() }));
  assert.equal(nextHeard()?.sequence, 11);
  // Another suite has another tag and the same key stream, also after a time without keys.
  sender.agree(agreed(undefined));
  assert.equal(next().readUInt16BE(2), 12);
  const other = 'AES_CM_128_HMAC_SHA1_32';
  sender.agree(agreed({ suite: other, local, remote: newKey() }));
  assert.equal(nextHeard(other)?.sequence, 13);
  sender.close();
});
