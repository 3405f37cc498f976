// Packets of EPMD and of the handshake: documented bytes, round trips, and rejected input.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aliveReply,
  aliveRequest,
  type NodeEntry,
  namesReply,
  namesRequest,
  parseAliveReply,
  parseEpmdRequest,
  parseNamesReply,
  parsePortReply,
  portPleaseRequest,
  portReply,
} from '../../../../node/cluster/erlang/epmd/epmd-packets.ts';
import { hasMandatoryFlags, mandatoryFlags, ownFlags } from '../../../../node/cluster/erlang/handshake/flags.ts';
import {
  ackPacket,
  challengePacket,
  cookieDigest,
  isSame,
  namePacket,
  parseAck,
  parseChallengePacket,
  parseNamePacket,
  parseReply,
  parseStatus,
  replyPacket,
  statusPacket,
} from '../../../../node/cluster/erlang/handshake/handshake-packets.ts';
import { LogThrottle } from '../../../../node/cluster/erlang/log-throttle.ts';
import { fitsMode, splitNodeName } from '../../../../node/cluster/erlang/node-names.ts';
import { PacketReader } from '../../../../node/cluster/erlang/packet-reader.ts';
import { WireError } from '../../../../node/cluster/erlang/wire-error.ts';

const entry: NodeEntry = { name: 'svc', port: 9000, hidden: false, highest: 6, lowest: 6, extra: Buffer.alloc(0) };
const withoutLength = (request: Buffer) => request.subarray(2);

describe('EPMD', () => {
  test('a registration has the documented bytes', () => {
    assert.equal(aliveRequest(entry).toString('hex'), '0010' + '78' + '2328' + '4d' + '00' + '0006' + '0006' + '0003' + '737663' + '0000');
  });

  test('EPMD requests survive a round trip', () => {
    assert.deepEqual(parseEpmdRequest(withoutLength(aliveRequest(entry))), { kind: 'alive', entry });
    assert.deepEqual(parseEpmdRequest(withoutLength(portPleaseRequest('svc'))), { kind: 'portPlease', name: 'svc' });
    assert.deepEqual(parseEpmdRequest(withoutLength(namesRequest())), { kind: 'names' });
  });

  test('EPMD responses survive a round trip', () => {
    assert.deepEqual(parseAliveReply(aliveReply(4_000_000_000, 6)), { creation: 4_000_000_000 });
    assert.deepEqual(parseAliveReply(aliveReply(null, 6)), { creation: null });
    assert.equal(aliveReply(7, 5).length, 4);
    assert.equal(parseAliveReply(aliveReply(7, 6).subarray(0, 5)), undefined);
    assert.deepEqual(parsePortReply(portReply(entry)), entry);
    assert.equal(parsePortReply(portReply(undefined)), undefined);
    assert.deepEqual(parseNamesReply(namesReply(4369, [entry])), [{ name: 'svc', port: 9000 }]);
  });

  test('names that break lines, ports of 0 and lengths beyond the end are rejected', () => {
    const wrongNames = ['', 'a\nname b at port 1', 'a b', 'a@b', 'x'.repeat(256)];
    for (const name of wrongNames) assert.throws(() => parseEpmdRequest(withoutLength(portPleaseRequest(name))), WireError, name);
    assert.throws(() => parseEpmdRequest(withoutLength(aliveRequest({ ...entry, port: 0 }))), WireError);
    const request = Buffer.from(withoutLength(aliveRequest(entry)));
    for (let length = 0; length < request.length; length += 1)
      assert.throws(() => parseEpmdRequest(request.subarray(0, length)), WireError, String(length));
    request.writeUInt16BE(0xffff, 9);
    assert.throws(() => parseEpmdRequest(request), WireError);
    assert.throws(() => parseAliveReply(Buffer.from('HTTP/1.1 400')), WireError);
  });
});

describe('the distribution handshake', () => {
  const name = { flags: ownFlags, creation: 0xffff_fffe, name: 'svc@10.0.0.1' };

  test('packets survive a round trip', () => {
    assert.deepEqual(parseNamePacket(namePacket(name)), name);
    assert.deepEqual(parseChallengePacket(challengePacket({ ...name, challenge: 0xffff_ffff })), { ...name, challenge: 0xffff_ffff });
    const digest = cookieDigest('cookie', 1);
    assert.deepEqual(parseReply(replyPacket({ challenge: 1, digest })), { challenge: 1, digest });
    assert.deepEqual(parseAck(ackPacket(digest)), digest);
    for (const status of ['ok', 'ok_simultaneous', 'nok', 'not_allowed', 'alive', 'true', 'false'] as const)
      assert.equal(parseStatus(statusPacket(status)), status);
  });

  test('a digest is the MD5 of the cookie and the challenge in decimal', () => {
    // erlang:md5("secret" ++ "4294967295")
    assert.equal(cookieDigest('secret', 0xffff_ffff).toString('hex'), '5dfd181e69aa587cc812eb333e6536b6');
    assert.ok(isSame(cookieDigest('secret', 1), cookieDigest('secret', 1)));
    assert.ok(!isSame(cookieDigest('Secret', 1), cookieDigest('secret', 1)));
    assert.ok(!isSame(Buffer.alloc(3), cookieDigest('secret', 1)));
  });

  test('truncated packets, old versions and invalid names are rejected', () => {
    const whole = namePacket(name);
    for (let length = 0; length < whole.length; length += 1)
      assert.throws(() => parseNamePacket(whole.subarray(0, length)), WireError, String(length));
    assert.throws(() => parseNamePacket(Buffer.from('n\0\x05')), WireError);
    for (const wrong of ['svc', '@host', 'svc@', 'a@b@c', 'a b@c', 'a\n@b', `a@${'b'.repeat(300)}`])
      assert.throws(() => parseNamePacket(namePacket({ ...name, name: wrong })), WireError, wrong);
    assert.throws(() => parseStatus(Buffer.from('swhatever')), WireError);
    assert.throws(() => parseReply(Buffer.from('r123')), WireError);
    assert.throws(() => parseAck(Buffer.alloc(17)), WireError);
  });

  test('a node without a mandatory flag is incompatible, and the shorthand of OTP 25 implies all', () => {
    assert.ok(hasMandatoryFlags(ownFlags));
    assert.ok(hasMandatoryFlags(mandatoryFlags));
    assert.ok(hasMandatoryFlags(1n << 26n));
    for (let bit = 0n; bit < 36n; bit += 1n)
      if ((mandatoryFlags & (1n << bit)) !== 0n) assert.ok(!hasMandatoryFlags(mandatoryFlags & ~(1n << bit)));
  });

  test('flags required by OTP 26 and 27 are sent, those for atom cache and fragments are not', () => {
    const mandatory26 = 0x4_0307_0f94n;
    assert.equal(ownFlags & mandatory26, mandatory26);
    assert.equal(ownFlags & ((1n << 13n) | (1n << 23n) | (1n << 5n)), 1n << 5n);
  });
});

describe('node names', () => {
  test('have two parts', () => {
    assert.deepEqual(splitNodeName('svc@host'), { name: 'svc', host: 'host' });
    assert.deepEqual(splitNodeName('svc@2001:db8::1'), { name: 'svc', host: '2001:db8::1' });
    for (const wrong of ['svc', 'svc@', '@host', 'a@b@c', '', `a@${'b'.repeat(254)}`]) assert.equal(splitNodeName(wrong), undefined, wrong);
  });

  test('have a host without a dot with sname, with a dot or an address with name', () => {
    assert.deepEqual(
      ['host', 'host.local', '10.0.0.1', '::1'].map((host) => [fitsMode('sname', host), fitsMode('name', host)]),
      [
        [true, false],
        [false, true],
        [false, true],
        [false, true],
      ],
    );
  });
});

describe('the packet reader', () => {
  test('splits a stream correctly regardless of its chunks', () => {
    const packets = ['', 'a', 'bc', 'd'.repeat(300), ''].map((text) => Buffer.from(text));
    const stream = Buffer.concat(packets.flatMap((packet) => [Buffer.of(0, 0, packet.length >> 8, packet.length), packet]));
    for (let size = 1; size <= stream.length; size += 1) {
      const reader = new PacketReader(4, 300);
      const read: Buffer[] = [];
      for (let at = 0; at < stream.length; at += size) {
        reader.push(stream.subarray(at, at + size));
        for (let packet = reader.next(); packet; packet = reader.next()) read.push(Buffer.from(packet));
      }
      assert.deepEqual(read, packets);
      assert.equal(reader.held, 0);
    }
  });

  test('rejects a packet that is too long before it has arrived, and allocates no memory for a claimed length', () => {
    const reader = new PacketReader(4, 1000);
    reader.push(Buffer.of(0, 0, 3, 233));
    assert.throws(() => reader.next(), WireError);
    const patient = new PacketReader(4, 1_000_000_000);
    patient.push(Buffer.of(0x3b, 0x9a, 0xca, 0, 1));
    assert.equal(patient.next(), undefined);
    assert.equal(patient.held, 5);
    assert.equal(patient.rest().length, 5);
  });
});

test('the log throttle passes a number of lines per period and counts the others', () => {
  const gate = new LogThrottle(2, 100);
  assert.deepEqual([gate.pass(1000), gate.pass(1001), gate.pass(1002), gate.pass(1003)], [0, 0, undefined, undefined]);
  assert.equal(gate.pass(1100), 2);
  assert.equal(gate.pass(1101), 0);
});
