// Symmetric RTP: the remote address follows SDP and valid packets, but not arbitrary senders.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SymmetricRtpAddress } from '../../../../../node/components/sip/audio/symmetric-rtp.ts';

const agreed = { ip: '192.0.2.1', port: 4000 };
const otherPort = { ip: '192.0.2.1', port: 5000 };
const attacker = { ip: '203.0.113.9', port: 4000 };

/** True for each accepted packet of several in a row. */
function offer(
  far: SymmetricRtpAddress,
  from: { ip: string; port: number },
  { packets = 3, ssrc = 1, now = 0, trusted = false } = {},
): boolean[] {
  return Array.from({ length: packets }, () => far.accepts(from, ssrc, trusted, now));
}

test('packets from the negotiated address are accepted at once', () => {
  const far = new SymmetricRtpAddress(agreed, true);
  assert.deepEqual(far.target, agreed);
  assert.deepEqual(offer(far, agreed, { packets: 1 }), [true]);
});

test('another address must send several packets in a row, with one SSRC', () => {
  const far = new SymmetricRtpAddress(agreed, true);
  assert.deepEqual(offer(far, attacker), [false, false, true]);
  assert.deepEqual(far.target, attacker);
  const changing = new SymmetricRtpAddress(agreed, true);
  assert.deepEqual(
    [1, 2, 3, 4].map((ssrc) => changing.accepts(attacker, ssrc, false, 0)),
    [false, false, false, false],
  );
  assert.deepEqual(changing.target, agreed);
});

test('a hostile sender cannot replace the remote party, but the remote party can replace it', () => {
  const far = new SymmetricRtpAddress(agreed, true);
  offer(far, attacker);
  assert.deepEqual(offer(far, { ip: '203.0.113.10', port: 9 }, { packets: 10, now: 60_000 }), new Array(10).fill(false));
  assert.deepEqual(offer(far, otherPort), [false, false, true]);
  assert.deepEqual(offer(far, attacker, { packets: 5, now: 60_000 }), new Array(5).fill(false));
  assert.deepEqual(offer(far, agreed, { packets: 1 }), [true]);
  assert.deepEqual(far.target, agreed);
});

test('the remote party may continue from another port of its host after silence', () => {
  const far = new SymmetricRtpAddress(agreed, true);
  offer(far, agreed, { packets: 1, now: 1000 });
  assert.deepEqual(offer(far, otherPort, { packets: 5, now: 2000 }), new Array(5).fill(false));
  assert.deepEqual(offer(far, otherPort, { now: 3500 }), [false, false, true]);
  assert.deepEqual(far.target, otherPort);
});

test('authenticated packets are followed from any address', () => {
  const far = new SymmetricRtpAddress(agreed, true);
  offer(far, agreed, { packets: 1 });
  assert.deepEqual(offer(far, attacker, { packets: 1, trusted: true }), [true]);
  assert.deepEqual(far.target, attacker);
});

test('nothing is sent to unspecified or multicast addresses, or to a name', () => {
  for (const ip of ['0.0.0.0', '::', '239.1.1.1', '255.255.255.255', 'ff02::1', 'host.example'])
    assert.equal(new SymmetricRtpAddress({ ip, port: 4000 }, true).target, undefined, ip);
  assert.equal(new SymmetricRtpAddress({ ip: '192.0.2.1', port: 0 }, true).target, undefined);
  assert.deepEqual(new SymmetricRtpAddress({ ip: '2001:db8::1', port: 9 }, true).target, { ip: '2001:db8::1', port: 9 });
});

test('if private addresses are forbidden, none is used, from SDP or from packets', () => {
  for (const ip of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:10.0.0.1'])
    assert.equal(new SymmetricRtpAddress({ ip, port: 4000 }, false).target, undefined, ip);
  const far = new SymmetricRtpAddress({ ip: '9.9.9.9', port: 4000 }, false);
  assert.deepEqual(far.target, { ip: '9.9.9.9', port: 4000 });
  assert.deepEqual(offer(far, { ip: '10.0.0.1', port: 4000 }), [false, false, true]);
  assert.equal(far.target, undefined);
});
