// Offer and answer of calls: offers, codec selection, hold, keys and hostile descriptions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NegotiatedMedia } from '../../../../node/components/sip/audio/session.ts';
import {
  applyAnswer,
  createAnswer,
  createOffer,
  type LocalMediaDescription,
  SdpNegotiationError,
} from '../../../../node/components/sip/sdp/offer-answer.ts';
import { parseSdp } from '../../../../node/components/sip/sdp/session-description.ts';
import { ByteFuzzer } from '../../../kit/fuzzer.ts';

const key = 'A'.repeat(40);
const theirKey = 'B'.repeat(40);
const local: LocalMediaDescription = { ip: '192.0.2.1', port: 10_000, sessionId: 5, version: 1, direction: 'sendrecv', key };

function sdp(media: readonly string[], connection = 'c=IN IP4 198.51.100.7'): string {
  return ['v=0', 'o=far 1 1 IN IP4 198.51.100.7', 's=-', connection, 't=0 0', ...media, ''].join('\r\n');
}
const pcma = ['m=audio 4000 RTP/AVP 8 101', 'a=rtpmap:8 PCMA/8000', 'a=rtpmap:101 telephone-event/8000'];
const plain: NegotiatedMedia = {
  codec: 'PCMA',
  payloadType: 8,
  dtmfPayloadType: 101,
  comfortNoisePayloadType: undefined,
  remote: { ip: '198.51.100.7', port: 4000 },
  keys: undefined,
  direction: 'sendrecv',
};

test('an offer has all codecs, DTMF for each clock rate and comfort noise, and is valid for our parser', () => {
  const offer = parseSdp(createOffer(local));
  assert.deepEqual(
    offer?.media[0]?.formats.map(({ name, clockRate }) => `${name}/${clockRate}`),
    ['opus/48000', 'g722/8000', 'pcma/8000', 'pcmu/8000', 'telephone-event/8000', 'telephone-event/48000', 'cn/8000'],
  );
  assert.deepEqual([offer?.media[0]?.ip, offer?.media[0]?.port, offer?.media[0]?.direction], ['192.0.2.1', 10_000, 'sendrecv']);
  assert.match(createOffer({ ...local, ip: '2001:db8::1' }), /^c=IN IP6 2001:db8::1\r$/m);
});

test('the first known codec of an offer is accepted, with DTMF of its clock rate and the payload types of the offer', () => {
  const offer = [
    'm=audio 4000 RTP/AVP 18 111 8 100 101 13',
    'a=rtpmap:111 opus/48000/2',
    'a=rtpmap:100 telephone-event/48000',
    'a=rtpmap:101 telephone-event/8000',
  ];
  const { agreed, answer } = createAnswer(sdp(offer), local);
  assert.deepEqual(
    [agreed.codec, agreed.payloadType, agreed.dtmfPayloadType, agreed.comfortNoisePayloadType],
    ['opus', 111, 100, undefined],
  );
  assert.match(answer ?? '', /^m=audio 10000 RTP\/AVP 111 100\r$/m);
  assert.deepEqual(createAnswer(sdp(pcma), local).agreed, plain);
  assert.equal(createAnswer(sdp(['m=audio 4000 RTP/AVP 0 13']), local).agreed.comfortNoisePayloadType, 13);
  assert.equal(createAnswer(sdp(['m=audio 4000 RTP/AVP 9']), local).agreed.codec, 'G722');
});

test('DTMF at 8000 Hz is accepted with Opus if the remote party offers no other (Asterisk before 20.10)', () => {
  const theirs = sdp(['m=audio 4000 RTP/AVP 96 101', 'a=rtpmap:96 opus/48000/2', 'a=rtpmap:101 telephone-event/8000']);
  const { agreed, answer } = createAnswer(theirs, local);
  assert.deepEqual([agreed.codec, agreed.dtmfPayloadType, agreed.dtmfClockRate], ['opus', 101, 8000]);
  assert.match(answer ?? '', /^m=audio 10000 RTP\/AVP 96 101\r$/m);
  assert.match(answer ?? '', /^a=rtpmap:101 telephone-event\/8000\r$/m);
  const read = applyAnswer(theirs, local);
  assert.deepEqual([read.dtmfPayloadType, read.dtmfClockRate], [101, 8000]);
  assert.match(createOffer(local, read), /^a=rtpmap:101 telephone-event\/8000\r$/m);
});

test('unsupported streams are rejected at their positions', () => {
  const { answer } = createAnswer(
    sdp(['m=video 5000 RTP/AVP 96', 'a=rtpmap:96 H264/90000', ...pcma, 'm=audio 6000 RTP/AVP 0', 'm=image 7000 udptl t38']),
    local,
  );
  assert.deepEqual(
    answer?.split('\r\n').filter((line) => line.startsWith('m=')),
    ['m=video 0 RTP/AVP 96', 'm=audio 10000 RTP/AVP 8 101', 'm=audio 0 RTP/AVP 0', 'm=image 0 UDPTL t38'],
  );
});

test('hold limits the local direction', () => {
  for (const [theirs, ours] of [
    ['sendrecv', 'sendrecv'],
    ['sendonly', 'recvonly'],
    ['recvonly', 'sendonly'],
    ['inactive', 'inactive'],
  ] as const) {
    const { agreed, answer } = createAnswer(sdp([...pcma, `a=${theirs}`]), local);
    assert.equal(agreed.direction, ours);
    assert.match(answer ?? '', new RegExp(`^a=${ours}\r$`, 'm'));
  }
  const zeros = createAnswer(sdp(pcma, 'c=IN IP4 0.0.0.0'), local, plain);
  assert.deepEqual([zeros.agreed.direction, zeros.agreed.remote], ['recvonly', plain.remote]);
});

test('offered keys are accepted, and an encrypted call stays encrypted', () => {
  const crypto = `a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:${theirKey}|2^20`;
  const { agreed, answer } = createAnswer(sdp(['m=audio 4000 RTP/SAVP 8', 'a=crypto:1 F8_128_HMAC_SHA1_80 inline:x', crypto]), local);
  assert.deepEqual(agreed.keys, { suite: 'AES_CM_128_HMAC_SHA1_80', local: key, remote: theirKey });
  assert.match(answer ?? '', new RegExp(`^a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:${key}\r$`, 'm'));
  assert.match(answer ?? '', /^m=audio 10000 RTP\/SAVP 8\r$/m);
  assert.throws(() => createAnswer(sdp(['m=audio 4000 RTP/SAVP 8']), local), SdpNegotiationError);
  assert.match(createOffer(local, agreed), /^m=audio 10000 RTP\/SAVP 8\r\na=rtpmap:8 PCMA\/8000\r\na=crypto:1 /m);
  assert.throws(() => applyAnswer(sdp(pcma), local, agreed), SdpNegotiationError);
  // Keys that were not offered.
  assert.equal(applyAnswer(sdp([...pcma, crypto]), local).keys, undefined);
  assert.throws(() => applyAnswer(sdp(['m=audio 4000 RTP/SAVP 8', crypto]), local), SdpNegotiationError);
});

test('addresses of this node, multicast or unspecified addresses, and invalid descriptions are rejected', () => {
  const refused = [
    sdp(pcma, 'c=IN IP4 127.0.0.1'),
    sdp(pcma, 'c=IN IP4 224.0.0.1'),
    sdp(pcma, 'c=IN IP4 255.255.255.255'),
    sdp(pcma, 'c=IN IP4 169.254.1.1'),
    sdp(pcma, 'c=IN IP4 0.0.0.0'),
    sdp(pcma, 'c=IN IP6 ::1'),
    sdp(pcma, 'c=IN IP4 host.example'),
    sdp(pcma, 'c=IN IP4 1.2.3.4/127'),
    sdp(pcma, 's=x'),
    sdp([]),
    sdp(['m=audio 0 RTP/AVP 8']),
    sdp(['m=audio 4000 UDP/TLS/RTP/SAVPF 8']),
    sdp(['m=audio 99999 RTP/AVP 8']),
    sdp(['m=audio 4000 RTP/AVP 18']),
    sdp(['m=audio 4000 RTP/AVP 96', 'a=rtpmap:96 opus/8000']),
    sdp(Array.from({ length: 40 }, () => 'm=audio 4000 RTP/AVP 8')),
    sdp([`m=audio 4000 RTP/AVP ${'8 '.repeat(300)}`]),
    sdp([...pcma, `a=x:${'y'.repeat(2000)}`]),
    sdp(Array.from({ length: 500 }, () => 'a=x')),
    'x'.repeat(20_000),
    '',
    'v=1\r\n',
  ];
  for (const text of refused) assert.throws(() => createAnswer(text, local), SdpNegotiationError, text.slice(0, 200));
  assert.equal(createAnswer(sdp(pcma, 'c=IN IP4 127.0.0.1'), { ...local, ip: '127.0.0.1' }).agreed.remote.ip, '127.0.0.1');
});

test('mutated descriptions are agreed on or rejected promptly (fixed seed)', () => {
  const samples = [
    createOffer(local),
    sdp(pcma),
    sdp([...pcma, `a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:${theirKey}`, 'a=sendonly', 'm=video 1 RTP/AVP 96']),
  ].map((text) => Buffer.from(text));
  const byteFuzzer = new ByteFuzzer(4566);
  let agreed = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const text = byteFuzzer.mutate(samples).toString('latin1');
    try {
      const result = createAnswer(text, local, plain);
      assert.ok(result.agreed.remote.port > 0 && result.agreed.payloadType <= 127);
      assert.doesNotMatch(result.answer ?? '', /[^\r\n -~]/);
      agreed += 1;
    } catch (error) {
      assert.ok(error instanceof SdpNegotiationError, String(error));
    }
  }
  assert.ok(agreed > 1000);
});
