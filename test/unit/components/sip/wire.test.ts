// SIP wire format: stream framing, message limits, Via, registrar addresses, retransmission and digests.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { chooseChallenge, digestCredentials } from '../../../../node/components/sip/wire/digest-auth.ts';
import { maxMessageBytes, StreamFraming } from '../../../../node/components/sip/wire/framing.ts';
import { headerOf, readMessage, writeMessage } from '../../../../node/components/sip/wire/message.ts';
import { parseRegistrar } from '../../../../node/components/sip/wire/registrar.ts';
import { Retransmissions, retransmissionKey, stopsRetransmissionOf } from '../../../../node/components/sip/wire/retransmissions.ts';
import { locateServers, type SipDns } from '../../../../node/components/sip/wire/server-location.ts';
import { addReceivedAndRport, parseVia, responseAddress, withViaPort } from '../../../../node/components/sip/wire/via.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { seededRandom } from '../../../kit/seeded-random.ts';

const message = (body = '', length = String(Buffer.byteLength(body))) =>
  Buffer.from(
    `OPTIONS sip:a@b SIP/2.0\r\nVia: SIP/2.0/TCP h;branch=z9hG4bK1\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:a@b>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\nContent-Length: ${length}\r\n\r\n${body}`,
  );

test('a stream is split into messages and keep-alives, for any chunk size', () => {
  const whole = Buffer.concat([Buffer.from('\r\n\r\n'), message('12345'), message(), Buffer.from('\r\n'), message('x')]);
  const random = seededRandom(7);
  for (let round = 0; round < 200; round += 1) {
    const framing = new StreamFraming();
    const pieces = [];
    for (let at = 0; at < whole.length; ) {
      const size = round === 0 ? whole.length : 4 + Math.floor(random() * 60);
      pieces.push(...framing.push(whole.subarray(at, at + size)));
      at += size;
    }
    const shown = pieces.map((piece) => (typeof piece === 'string' ? piece : piece.message.toString()));
    assert.deepEqual(
      shown.filter((each) => each.length > 4),
      [message('12345'), message(), message('x')].map(String),
    );
    assert.equal(shown[0], 'ping');
    assert.ok(shown.includes('pong'));
  }
});

test('an invalid stream throws', () => {
  for (const bytes of [
    message('', '-1'),
    message('', '1e3'),
    message('', String(maxMessageBytes)),
    message('', '99999999999999999999'),
    Buffer.from(`OPTIONS sip:a SIP/2.0\r\nVia: x\r\n\r\n`),
    Buffer.from('\rx'),
    Buffer.alloc(40_000, 'a'),
    Buffer.from(`${'a: b\r\n'.repeat(8000)}`),
  ])
    assert.throws(() => new StreamFraming().push(bytes), RangeError, bytes.toString().slice(0, 60));
});

test('a message is parsed with compact names, folded lines and Content-Length', () => {
  const text =
    'OPTIONS sip:a@b SIP/2.0\r\nv: SIP/2.0/UDP h;branch=z\r\nf: <sip:a@b>\r\n ;tag=1\r\nt: <sip:c@d>\r\ni: 7\r\nCSEQ:  12   OPTIONS\r\nl: 3\r\n\r\nabcdef';
  const read = readMessage(Buffer.from(text));
  assert.ok(read);
  assert.deepEqual([read.method, read.status, read.body], ['OPTIONS', undefined, 'abc']);
  assert.equal(headerOf(read, 'from'), '<sip:a@b> ;tag=1');
  assert.match(
    writeMessage(read),
    /\r\nVia: SIP\/2.0\/UDP h;branch=z\r\n.*\r\nCall-ID: 7\r\nCSeq: 12 {3}OPTIONS\r\nContent-Length: 3\r\n\r\nabc$/s,
  );
  assert.equal(readMessage(Buffer.from('SIP/2.0 200 OK\r\nv: a\r\nf: a\r\nt: a\r\ni: 7\r\nCSeq: 1 BYE\r\n\r\n'))?.status, 200);
});

test('invalid messages are rejected', () => {
  const good = message().toString();
  for (const bad of [
    '',
    '\r\n\r\n',
    good.slice(0, -4),
    good.replace('SIP/2.0\r\n', 'SIP/3.0\r\n'),
    good.replace('OPTIONS sip:a@b', 'OPTIONS  sip:a@b'),
    good.replace('sip:a@b SIP', 'http://a SIP'),
    good.replace('Call-ID: 1\r\n', ''),
    good.replace('Call-ID: 1', 'Call-ID: 1\r\nCall-ID: 2'),
    good.replace('Via: SIP/2.0/TCP h;branch=z9hG4bK1\r\n', ''),
    good.replace('1 OPTIONS', '1 INVITE'),
    good.replace('1 OPTIONS', '4294967296 OPTIONS'),
    good.replace('Content-Length: 0', 'Content-Length: 5'),
    good.replace('Content-Length: 0', 'Content-Length: 0\r\nContent-Length: 1'),
    good.replace('Call-ID: 1', 'Call-ID: 1\0'),
    good.replace('Call-ID: 1', ': 1'),
    good.replace('Call-ID: 1', 'Call-ID: 1\nX: y'),
    good.replace('Call-ID: 1', `Call-ID: 1${'\r\nX: y'.repeat(200)}`),
    good.replace('Call-ID: 1', `Call-ID: 1\r\nX: ${'y'.repeat(9000)}`),
  ])
    assert.equal(readMessage(Buffer.from(bad)), undefined, JSON.stringify(bad.slice(0, 200)));
});

test('the source of a request is added to its Via, and responses are sent there', () => {
  const marked = addReceivedAndRport('SIP/2.0/UDP 10.0.0.1:5080;branch=z;rport;received=1.2.3.4', '192.0.2.1', 6000);
  assert.deepEqual(responseAddress(marked ?? ''), { ip: '192.0.2.1', port: 6000 });
  assert.deepEqual(responseAddress(addReceivedAndRport('SIP/2.0/UDP host.example:5080;branch=z', '192.0.2.1', 6000) ?? ''), {
    ip: '192.0.2.1',
    port: 5080,
  });
  assert.deepEqual(responseAddress(addReceivedAndRport('SIP/2.0/UDP 192.0.2.1;branch=z', '192.0.2.1', 6000) ?? ''), {
    ip: '192.0.2.1',
    port: 5060,
  });
  assert.deepEqual(
    responseAddress(addReceivedAndRport('SIP / 2.0 / UDP [2001:db8::1]:99;branch=z, SIP/2.0/TCP b;branch=y', '2001:db8::1', 7) ?? ''),
    {
      ip: '2001:db8::1',
      port: 99,
    },
  );
  assert.match(
    addReceivedAndRport('SIP/2.0/UDP a;branch=z;rport, SIP/2.0/TCP b;branch=y', '192.0.2.1', 7) ?? '',
    /rport=7.*, SIP\/2\.0\/TCP b;branch=y$/,
  );
  assert.equal(withViaPort('SIP/2.0/UDP 192.0.2.1;branch=z;rport', 'TLS', 5071), 'SIP/2.0/TLS 192.0.2.1:5071;branch=z;rport');
  for (const bad of ['', 'SIP/2.0/UDP', 'SIP/2.0/UDP a:0', 'SIP/2.0/UDP a:99999', 'SIP/2.0/UDP a;=b', 'HTTP/1.1/UDP a', 'SIP/2.0/UDP a b'])
    assert.equal(parseVia(bad), undefined, bad);
});

test('registrar addresses are parsed in all valid forms only', () => {
  assert.deepEqual(parseRegistrar('sip.example'), { host: 'sip.example' });
  assert.deepEqual(parseRegistrar('sip:sip.example:5080;transport=tcp'), { host: 'sip.example', port: 5080, transport: 'TCP' });
  assert.deepEqual(parseRegistrar('sips:[2001:db8::1]:5071'), { host: '2001:db8::1', port: 5071, transport: 'TLS' });
  assert.deepEqual(parseRegistrar('192.0.2.1;transport=udp'), { host: '192.0.2.1', transport: 'UDP' });
  for (const bad of [
    '',
    'a b',
    'sip:',
    'a:0',
    'a:70000',
    'user@a',
    '[::1',
    '[127.0.0.1]',
    'a;transport=sctp',
    'sips:a;transport=udp',
    'http://a',
    'a/b',
    '-a',
    `${'a'.repeat(64)}.b`,
  ])
    assert.equal(parseRegistrar(bad), undefined, bad);
});

test('a name resolves by SRV with priority and weight, or by A and AAAA, within limits', async () => {
  const asked: string[] = [];
  const names = (records: Record<string, { name: string; port: number; priority: number; weight: number }[]>): SipDns => ({
    srv: async (name) => {
      asked.push(name);
      return records[name] ?? [];
    },
    addresses: async (host) => {
      if (host === 'gone.example') throw new Error('ENOTFOUND');
      return [`192.0.2.${host.length}`];
    },
  });
  const record = (name: string, priority: number, weight = 1) => ({ name, port: 5080, priority, weight });
  const found = await locateServers(
    { host: 'e.example' },
    names({ '_sip._udp.e.example': [record('bbbb', 20), record('gone.example', 5), record('aaa', 10)] }),
  );
  assert.deepEqual(found, [
    { transport: 'UDP', ip: '192.0.2.3', port: 5080 },
    { transport: 'UDP', ip: '192.0.2.4', port: 5080 },
  ]);
  const tcp = await locateServers({ host: 'e.example' }, names({ '_sip._tcp.e.example': [record('aaa', 10)] }));
  assert.deepEqual(tcp, [{ transport: 'TCP', ip: '192.0.2.3', port: 5080 }]);
  assert.deepEqual(await locateServers({ host: 'e.example', transport: 'TLS' }, names({})), [
    { transport: 'TLS', ip: '192.0.2.9', port: 5061 },
  ]);
  assert.ok(asked.includes('_sips._tcp.e.example'));
  asked.length = 0;
  assert.deepEqual(await locateServers({ host: 'e.example', port: 99 }, names({})), [{ transport: 'UDP', ip: '192.0.2.9', port: 99 }]);
  assert.deepEqual(asked, [], 'a port that is given needs no SRV');
  await assert.rejects(locateServers({ host: 'gone.example' }, names({})), /The name gone\.example has no address/);
  const many = await locateServers({ host: 'e' }, names({ '_sip._udp.e': Array.from({ length: 100 }, (_, index) => record('a', index)) }));
  assert.equal(many.length, 16);
  // The heavier one is mostly first.
  const random = seededRandom(3);
  let heavyFirst = 0;
  for (let round = 0; round < 400; round += 1) {
    const [first] = await locateServers({ host: 'e' }, names({ '_sip._udp.e': [record('aaa', 1, 10), record('bbbb', 1, 90)] }), random);
    if (first?.ip === '192.0.2.4') heavyFirst += 1;
  }
  assert.ok(heavyFirst > 320 && heavyFirst < 390, String(heavyFirst));
});

test('requests are retransmitted at T1, 2*T1, 4*T1 until a response, at most every 4 s unless INVITE, for at most 32 s', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [capped, expected] of [
    [false, [500, 1500, 3500, 7500, 15_500, 31_500]],
    [true, [500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500]],
  ] as const) {
    const sent: number[] = [];
    const running = new Retransmissions();
    let now = 0;
    running.start('a', () => sent.push(now), capped);
    for (; now < 60_000; ) {
      now += 500;
      t.mock.timers.tick(500);
    }
    assert.deepEqual(sent, expected);
    assert.equal(running.size, 0);
  }
  const stopped = new Retransmissions();
  const send = mock.fn();
  stopped.start('a', send, true);
  stopped.stop('a');
  t.mock.timers.tick(60_000);
  assert.equal(send.mock.callCount(), 0);
  assert.deepEqual(retransmissionKey({ method: 'ACK', status: undefined, branch: 'b' }), undefined);
  assert.equal(retransmissionKey({ method: 'INVITE', status: 200, branch: 'b' }), undefined);
  assert.equal(
    retransmissionKey({ method: 'INVITE', status: 486, branch: 'b' })?.key,
    stopsRetransmissionOf({ method: 'ACK', status: undefined, branch: 'b' }),
  );
  assert.equal(
    retransmissionKey({ method: 'INVITE', status: undefined, branch: 'b' })?.key,
    stopsRetransmissionOf({ method: 'INVITE', status: 100, branch: 'b' }),
  );
  assert.equal(stopsRetransmissionOf({ method: 'BYE', status: 100, branch: 'b' }), undefined);
});

test('digests match RFC 7616, section 3.9.1, and RFC 8760: the first supported challenge is answered', () => {
  const challenge = {
    realm: 'http-auth@example.org',
    nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
    opaque: 'FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS',
    qop: ['auth', 'auth-int'],
  };
  const request = { method: 'GET', uri: '/dir/index.html', username: 'Mufasa', password: 'Circle of Life' };
  const cnonce = 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ';
  const response = (algorithm: string) =>
    /response="([0-9a-f]+)"/.exec(digestCredentials({ ...challenge, algorithm }, request, cnonce) ?? '')?.[1];
  assert.equal(response('SHA-256'), '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1');
  assert.equal(response('MD5'), '8ca523f5e9506fed4657c9700eebdbec');
  assert.equal(digestCredentials({ ...challenge, algorithm: 'SHA-1' }, request), undefined);
  assert.equal(digestCredentials({ ...challenge, realm: 'a"\r\nX: y' }, request), undefined);
  assert.equal(digestCredentials({ ...challenge, qop: ['auth-int'] }, request), undefined);
  const headers = [
    'Digest realm="a", nonce="1", algorithm=SHA-1',
    'Digest realm="a", nonce="2", algorithm=SHA-256',
    'Digest realm="a", nonce="3"',
  ].map((value) => ({ name: 'www-authenticate', value }));
  assert.deepEqual(fieldsOf(chooseChallenge([{ name: 'to', value: 'x' }, ...headers]), 'value'), ['x', headers[1]?.value]);
  assert.deepEqual(chooseChallenge([{ name: 'www-authenticate', value: 'Basic realm="a"' }]), []);
});
